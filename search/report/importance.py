"""Parameter importance: the share of the differences between configurations that each parameter explains."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import fdtrc

from seedwise.search.drawing.chart import BLUE, GREY, RED, Chart, focus, label, listed, points, spread_out
from seedwise.search.ranking.baseline_scores import varying
from seedwise.search.ranking.ranks import ranks
from seedwise.search.ranking.results import Results
from seedwise.spaces.dimension import Dimension

FEWEST = 8  # configurations that have a parameter: with fewer, chance could explain the differences
LEVEL = 0.05  # of the F test
PARABOLA = 2  # degrees of freedom for a number: a parabola can have its optimum in the middle
HORIZONTAL = 3  # values whose names fit below a slice without rotation
ENDS = ("estimate_high", "estimate_low")
SPREAD = 0.6  # share of the distance between two values over which points are spread


@dataclass(frozen=True)
class Importance:
    """`share` of the variance of scores that a parameter alone explains, over the `n` configurations with it.

    The share is adjusted R squared, but at least 0: it excludes what random numbers would explain. `p` is the p value
    of the F test, how often chance alone explains as much; among several parameters it is corrected by `holm`.
    """

    name: str
    n: int
    share: float
    p: float

    @property
    def clear(self) -> bool:
        return self.p < LEVEL


def importances(results: Results) -> list[Importance]:
    """The importance of every searched parameter that enough configurations have, the most important first.

    A conditional parameter is judged among the configurations that have it. The scores are the configurations' raw
    means without the seeds' effects. Estimates would not do: they shrink towards a surface over these parameters,
    so these parameters would seem to explain them.
    """
    index, known = results.estimate.index_of, []
    for name in searched(results):
        rows = _having(results, name)
        scores = [float(results.estimate.raw[index[row["config_id"]]]) for row in rows]
        known.append(importance(name, [row["params"][name] for row in rows], scores))
    known = [item for item in known if item is not None]
    known = [replace(item, p=p) for item, p in zip(known, holm([item.p for item in known]), strict=True)]
    return sorted(known, key=lambda item: (-item.share, item.name))


def holm(values: list[float]) -> list[float]:
    """Correct p values for their number: at most 5 % of searches have any below 5 % by chance (Holm 1979)."""
    order = np.argsort(values, kind="stable")
    factors = np.arange(len(values), 0, -1)
    corrected = np.empty(len(values))
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(factors * np.array(values)[order]))
    return corrected.tolist()


def importance(name: str, values: list, scores: list[float]) -> Importance | None:
    """The importance of a parameter: a parabola over the ranks of numbers, the means of other values.

    None for fewer than 8 configurations, for a single value, or for about as many values as configurations.
    """
    n, kinds = len(values), list(dict.fromkeys(map(repr, values)))
    freedom = min(PARABOLA, len(kinds) - 1) if _numeric(values) else len(kinds) - 1
    rest = n - freedom - 1
    if n < FEWEST or freedom < 1 or rest < FEWEST // 2:
        return None
    if _numeric(values):
        design = np.stack([(ranks(values) / n) ** power for power in range(1, 1 + freedom)], axis=1)
    else:
        design = np.array([[repr(value) == kind for kind in kinds[1:]] for value in values], dtype=float)
    centred, y = design - design.mean(0), np.array(scores) - np.mean(scores)
    total = float(y @ y)
    if total == 0:
        return Importance(name, n, 0.0, 1.0)
    left = y - centred @ np.linalg.lstsq(centred, y, rcond=None)[0]
    unexplained = min(1.0, float(left @ left) / total)
    share = max(0.0, 1 - unexplained * (n - 1) / rest)
    odds = (1 - unexplained) / freedom / max(unexplained / rest, 1e-300)
    return Importance(name, n, share, float(fdtrc(freedom, rest, odds)))


def searched(results: Results) -> list[str]:
    """Parameters that differ between the ranked configurations. If the space varies any of them, only these."""
    names = varying([row["params"] for row in results.ranked])
    return [name for name in names if _dimension(results, name)] or names


def chart(results: Results) -> Chart | str:
    """A bar chart of the importances."""
    known = importances(results)
    if not known:
        several = len(searched(results))
        return (
            f"Importance is unknown: {len(_whole(results))} configurations have no failed run, and {several} searched "
            f"parameters differ between them. At least {FEWEST} configurations must have a parameter."
        )
    bars = {
        "type": "bar",
        "orientation": "h",
        "x": [item.share for item in known],
        "y": list(range(len(known))),
        "marker": {"color": [BLUE if item.clear else GREY for item in known]},
        "text": [f"{item.share:.2f}" for item in known],
        "textposition": "outside",
        "cliponaxis": False,
        "hovertext": [f"over {item.n} configurations, p = {item.p:.3f}" for item in known],
        "hoverinfo": "text",
    }
    text = "Share of the variance between configurations that each parameter explains alone: " + in_words(known)
    caption = (
        "Adjusted R squared of the configurations' means, without the effects of seeds, on one parameter, over the "
        "configurations that have it: a parabola over the ranks of a number, the means of other values; 0 is what "
        "chance explains. Blue: clear by an F test, corrected for the number of parameters (Holm): chance alone makes "
        f"any parameter clear in at most {LEVEL:.0%} of searches. Grey: unclear. Parameters that the sampler moved "
        "together share the credit."
    )
    layout = listed([item.name for item in known], "share of the variance explained", legend=False, range=[0, 1.08])
    return Chart("importance", "", text, caption, [bars], layout)


def in_words(known: list[Importance]) -> str:
    return ", ".join(f"{item.name} {item.share:.2f}" + ("" if item.clear else " (unclear)") for item in known) + "."


def slices(results: Results) -> list[Chart]:
    """One small chart per searched parameter: estimates with intervals against its values."""
    named = {name: _having(results, name) for name in searched(results)}
    return [_slice(results, name, rows, number) for number, (name, rows) in enumerate(named.items()) if rows]


def _slice(results: Results, name: str, rows: list[dict], number: int) -> Chart:
    values = [row["params"][name] for row in rows]
    axis: dict = {"title": {"text": label(name)}, "zeroline": False, "automargin": True, "exponentformat": "e"}
    if _numeric(values):
        x, dimension = values, _dimension(results, name)
        axis |= {"type": "log" if dimension is not None and dimension.log else "linear", "nticks": 4, "tickangle": 0}
        ends = f"from {min(values):g} to {max(values):g}"
    else:
        kinds = sorted(dict.fromkeys(map(str, values)))
        x = [kinds.index(str(value)) + offset for value, offset in zip(values, spread_out(values, SPREAD), strict=True)]
        axis |= {"tickvals": list(range(len(kinds))), "ticktext": [label(kind) for kind in kinds]}
        axis |= {"range": [-0.5, len(kinds) - 0.5], "tickangle": -35 if len(kinds) > HORIZONTAL else 0}
        ends = f"over {', '.join(kinds)}"
    best = max(rows, key=lambda row: row["estimate"])
    data, known = [], results.estimate.replicated
    for chosen, colour, symbol, size in ((False, BLUE, "circle-open", 6), (True, RED, "star", 12)):
        shown = [i for i, row in enumerate(rows) if (row is results.chosen) == chosen]
        up, down = ([abs(rows[i][end] - rows[i]["estimate"]) for i in shown if known] for end in ENDS)
        bars = {"type": "data", "array": up, "arrayminus": down, "thickness": 1, "width": 0, "color": colour}
        text = [label(f"{rows[i]['config_id']}: {rows[i]['estimate']:.4f} at {values[i]}") for i in shown]
        hover = {"text": text, "hovertemplate": "%{text}<extra></extra>", **({"error_y": bars} if known else {})}
        y = [rows[i]["estimate"] for i in shown]
        data += [points("", [x[i] for i in shown], y, colour, symbol=symbol, size=size, **hover)] if shown else []
    text = (
        f"Estimates of {len(rows)} configurations against {name}, {ends}; the highest, {best['estimate']:.3f}, "
        f"at {best['params'][name]}."
    )
    layout = {"height": 230, "showlegend": False, "margin": {"l": 45, "r": 10, "t": 10, "b": 40}, "xaxis": axis}
    whole = _whole(results)  # one range for all slices, so that they can be compared
    visible = focus([row[name] for row in whole for name in ("estimate", *(ENDS if known else ()))])
    layout["yaxis"] = {"zeroline": False, "automargin": True, "range": visible}
    return Chart(f"slice-{number}", "", text, f"{len(rows)} configurations", data, layout)


def _whole(results: Results) -> list[dict]:
    """Rows of configurations without a failed run. Failed runs have no measured score for a parameter to explain."""
    estimate = results.estimate
    return [row for row in results.ranked if not estimate.failed[estimate.index_of[row["config_id"]]]]


def _having(results: Results, name: str) -> list[dict]:
    """Rows that have a parameter. If it has a range, only rows with a number: `k: all` is not on its axis."""
    rows = [row for row in _whole(results) if name in row["params"]]
    dimension = _dimension(results, name)
    ranged = dimension is not None and dimension.choices is None
    return [row for row in rows if _numeric([row["params"][name]])] if ranged else rows


def _dimension(results: Results, name: str) -> Dimension | None:
    return results.space and results.space.searched.get(name)


def _numeric(values: list) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
