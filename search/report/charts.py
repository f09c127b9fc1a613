"""Charts of scores: the replicates of every configuration, scores over runs, selection against target."""

from collections.abc import Callable, Iterable
from itertools import accumulate

from seedwise.search.decide.policy import run_name
from seedwise.search.drawing.chart import (
    BLUE,
    GREEN,
    GREY,
    LEGEND,
    ORANGE,
    RED,
    Chart,
    beyond,
    focus,
    label,
    listed,
    points,
)
from seedwise.search.ledger.state import CONFIRM, PRUNED, SEARCH, Run
from seedwise.search.ranking.leaderboard import selection_and_target
from seedwise.search.ranking.results import Results
from seedwise.text import number

KINDS = {  # of runs: colours, and shapes for colour-blind readers
    "search seeds": (BLUE, "circle-open"),
    "fresh seeds": (GREEN, "diamond-open"),
    "failed": (RED, "x-thin"),
}
FRESH_OFFSET = 0.32  # of a row: fresh seeds are drawn below the seeds of the search
ENDS = ("estimate_low", "estimate_high")
NOTHING = "All runs failed: there is no score to show."


def replicates(results: Results) -> Chart | str:
    """A chart of every replicate of the best configurations and of the baselines, with estimates and intervals."""
    if not results.measured:
        return NOTHING
    rows = results.charted
    lines = {row["config_id"]: line for line, row in enumerate(rows)}
    runs = (run for row in rows for run in results.state.configurations[row["config_id"]].runs.values())
    data = _runs(
        results, runs, lambda run, score: (score, lines[run.config_id] + FRESH_OFFSET * (run.phase == CONFIRM))
    )
    scores = [x for trace in data for x in trace["x"]]
    measured = [row for row in rows if not results.only_failed(row["config_id"])]
    known = [row for row in measured if not row["baseline"]]
    baselines = [row for row in measured if row["baseline"]]
    confirmed = [
        row | row["fresh"] for row in rows if row["fresh"] and not results.only_failed(row["config_id"], CONFIRM)
    ]
    named = "estimate, 95 % interval" if results.estimate.replicated else "estimate"
    data += [
        _means(named, known, "estimate", "estimate", RED, lines),
        _means("mean of a baseline, 95 % interval", baselines, "mean", "ci", ORANGE, lines),
        _means("mean of fresh seeds, 95 % interval", confirmed, "mean", "ci", GREEN, lines, FRESH_OFFSET),
    ]
    ends = [row[end] for row in known for end in ENDS]
    ends += [row[end] for row in confirmed for end in ("ci_low", "ci_high")]
    shown = focus(scores + [end for end in ends if end is not None])
    best, fresh = results.chosen, ""
    if best["fresh"]:
        failed = results.only_failed(best["config_id"], CONFIRM)
        fresh = f", on fresh seeds {'all failed' if failed else in_interval(best['fresh'], 'mean', 'ci')}"
    text = (
        f"Scores of {len(rows) - len(results.baselines)} configurations and {len(results.baselines)} baselines, one "
        "point per replicate. "
        f"{best['config_id']} was chosen: estimate {in_interval(best, 'estimate', 'estimate')}{fresh}."
    )
    caption = (
        "Rows are in order of rank, baselines below. The estimate removes the effects of seeds and shrinks towards "
        "what the other configurations predict, so it may differ from the mean of the points. A failed run is drawn at "
        "the score that it counts as. Intervals of means pool the spread of the other configurations and end "
        f"at the bounds of the score. {results.left_out}{beyond([(score,) for score in scores], shown)}"
    )
    layout = listed(results.names(rows), results.selection.label, range=shown)
    return Chart("replicates", "", text, caption, [trace for trace in data if trace["x"]], layout)


def course(results: Results) -> Chart | str:
    """A chart of scores in the order in which the runs ended, with the best estimate so far."""
    if not results.measured:
        return NOTHING
    configurations = (
        configuration for configuration in results.state.configurations.values() if not configuration.baseline
    )
    runs = [
        run
        for configuration in configurations
        for run in configuration.runs.values()
        if run.finished and run.status != PRUNED
    ]
    runs.sort(key=lambda run: run.ended)
    estimates = {row["config_id"]: row["estimate"] for row in results.measured}
    best = best_so_far([estimates.get(run.config_id) for run in runs])
    data = _runs(results, runs, lambda run, score: (run.ended, score))
    scores = [y for trace in data for y in trace["y"]]
    line = {"color": ORANGE, "width": 2.5, "shape": "hv"}
    x = [run.ended for run in runs]
    data.append({"type": "scatter", "mode": "lines", "name": "best so far", "x": x, "y": best, "line": line})
    first = runs[best.index(best[-1])].ended
    text = (
        f"{len(runs)} runs of {len(results.ranked)} configurations in the order in which they ended. The configuration "
        f"with the highest estimate, {number(best[-1])}, had its first run as number {first}."
    )
    caption = (
        "Best so far is the highest final estimate among the configurations tried up to that run: the search would "
        "have chosen this configuration if it had known the final estimates. Baselines and pruned runs are left out."
    )
    layout = _axes("runs that have ended", results.selection.label)
    layout["yaxis"]["range"] = shown = focus(scores)
    return Chart("course", "", text, caption + beyond([(score,) for score in scores], shown), data, layout)


def best_so_far(values: Iterable[float | None]) -> list[float | None]:
    """The highest value so far at each position; None until there is a value."""
    return list(accumulate(values, lambda *pair: max((score for score in pair if score is not None), default=None)))


def target(results: Results) -> Chart | str:
    """A chart of selection score against target score, with the gap between the chosen configuration and the oracle."""
    price = results.underspecification
    if results.selection.oracle:
        return "The selection is the oracle itself: it ranks by target labels, so there is no gap to show."
    if price is None:
        return "Fewer than three configurations have both a selection score from labels and scores on target dev sets."
    both = selection_and_target(results.state, results.estimator)
    chosen, oracle = price["selected"]["config_id"], price["oracle"]["config_id"]

    def trace(name: str, keys: list[str], colour: str, **look: object) -> dict:
        x, y, text = [both[key][0] for key in keys], [both[key][1] for key in keys], [label(key) for key in keys]
        return points(
            name, x, y, colour, text=text, hovertemplate="%{text}: selection %{x:.4f}, target %{y:.4f}", **look
        )

    others = [key for key in both if key not in (chosen, oracle)]
    data = [trace("configurations", others, BLUE, symbol="circle-open")] if others else []
    data.append(trace("chosen", [chosen], RED, symbol="star", size=14))
    if oracle != chosen:
        data.append(trace("oracle", [oracle], GREEN, symbol="diamond", size=11))
        gap = {"x": [both[chosen][0]] * 2, "y": [both[chosen][1], both[oracle][1]], "hoverinfo": "skip"}
        look = {"color": GREY, "dash": "dot", "width": 2}
        data.append({"type": "scatter", "mode": "lines", "name": f"gap {number(price['gap'])}", "line": look, **gap})
    rho = price["rank_correlation"]
    correlation = "one of the two scores never differs" if rho is None else f"their rank correlation is {rho:.2f}"
    text = (
        f"Selection score against target score of {len(both)} configurations; {correlation}. On target dev, the chosen "
        f"configuration, {chosen}, has {number(price['selected']['target_score'])} and the best, {oracle}, "
        f"{number(price['oracle']['target_score'])}: a gap of {number(price['gap'])}."
    )
    languages = ", ".join(results.selection.targets)
    caption = (
        "Both axes are estimates. The oracle is the configuration that target labels would have chosen; the gap is the "
        "price of choosing without labels. Nothing here ranks. "
        f"Target: the {results.selection.aggregate} of {languages}."
    )
    layout = _axes(results.selection.label, f"{results.selection.metric} on target dev")
    shown = [focus(list(values)) for values in zip(*both.values(), strict=True)]
    layout["xaxis"]["range"], layout["yaxis"]["range"] = shown
    return Chart("target", "", text, caption + beyond(list(both.values()), *shown), data, layout)


def in_interval(row: dict, name: str, of: str) -> str:
    """A number with its 95 % interval, whose ends are `of`_low and `of`_high. An interval of width zero is left out."""
    low, high = row[f"{of}_low"], row[f"{of}_high"]
    interval = "" if low == high else f" (95 % interval {number(low)} to {number(high)})"
    return number(row[name]) + interval


def _means(
    name: str, rows: list[dict], value: str, of: str, colour: str, lines: dict[str, int], offset: float = 0.0
) -> dict:
    """Means as strokes, with bars from `of`_low to `of`_high. A mean without an interval has no bar."""
    rows = [row for row in rows if row[value] is not None]
    x, y = [row[value] for row in rows], [lines[row["config_id"]] + offset for row in rows]
    ends = [[row[f"{of}_{end}"] for row in rows] for end in ("high", "low")]
    up, down = ([0.0 if e is None else abs(e - mean) for e, mean in zip(end, x, strict=True)] for end in ends)
    bars = {"type": "data", "array": up, "arrayminus": down, "color": colour, "thickness": 1.5, "width": 3}
    return points(name, x, y, colour, symbol="line-ns-open", size=11, error_x=bars, hovertemplate="%{x:.4f}")


def _runs(results: Results, runs: Iterable[Run], at: Callable[[Run, float], tuple[float, float]]) -> list[dict]:
    """Runs as points, one trace per kind of run. `at` returns the position. Runs with no value are left out."""
    tables = [results.scores(phase) for phase in (SEARCH, CONFIRM)]
    scores = {(key, n): score for table in tables for key, of in table.items() for n, score in of.items()}
    kinds: dict[str, list[tuple]] = {name: [] for name in KINDS}
    for run in runs:
        score = scores.get((run.config_id, run.replicate)) if run.finished else None
        if score is not None:
            kind = "failed" if results.lacks_score(run) else "search seeds" if run.phase == SEARCH else "fresh seeds"
            kinds[kind].append((*at(run, score), label(f"{run_name(run.config_id, run.replicate)}: {score:.4f}")))
    return [
        points(name, *map(list, columns[:2]), colour, symbol=symbol, text=list(columns[2]), hovertemplate="%{text}")
        for name, (colour, symbol) in KINDS.items()
        if (columns := list(zip(*kinds[name], strict=True)))
    ]


def _axes(x: str, y: str) -> dict:
    both = {"zeroline": False, "automargin": True}
    return {
        "xaxis": {"title": {"text": label(x)}, **both},
        "yaxis": {"title": {"text": label(y), "standoff": 12}, **both},
        "legend": LEGEND,
    }
