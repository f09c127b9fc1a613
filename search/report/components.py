"""Splits the spread of scores into configurations, seeds and the rest, for the score that ranks and by language."""

from dataclasses import dataclass, replace

import numpy as np

from seedwise.search.drawing.chart import BLUE, GREEN, LEGEND, ORANGE, Chart, label
from seedwise.search.ranking.estimator import Estimator
from seedwise.search.ranking.results import Results

CHARTED_LANGUAGES = 20
CAPTION = (
    "Standard deviations in units of the score. Configurations: of their means, without what the rest adds to the "
    "means. Seeds: effects that a replicate has on all configurations, which paired comparisons remove. The rest: "
    "neither configurations nor seeds explain it."
)


@dataclass(frozen=True)
class Components:
    """Standard deviations, in units of the score. `seeds` and `rest` are None without replicates.

    `configurations` is the sd of the true means of configurations that never failed, `seeds` the sd of the replicates'
    effects, which all configurations share, `rest` the sd of what neither explains. Without replicates
    `configurations` includes the rest.
    """

    name: str
    configurations: float | None
    seeds: float | None
    rest: float | None


def components(results: Results) -> list[Components]:
    """The components of the score that ranks, then of the same metric in every language that has it."""
    selection = results.selection
    estimators = {selection.label: results.estimator}
    if selection.on != "metric":
        ranking = selection.names if len(selection.names) > 1 else []  # a single metric is the score itself
        for name in [*ranking, *selection.audit][:CHARTED_LANGUAGES]:
            by_metric = replace(selection, metric=name, on="metric", second=None)
            estimators[name.rpartition("/")[2]] = Estimator(by_metric)
    known = (_components(results, name, estimator) for name, estimator in estimators.items())
    return [parts for parts in known if parts is not None]


def _components(results: Results, name: str, estimator: Estimator) -> Components | None:
    estimate = estimator.estimate(results.state)
    whole = estimate.failed == 0
    if not whole.any():
        return None
    variance = float(np.var(estimate.raw[whole], ddof=1)) if whole.sum() > 1 else None
    if not estimate.replicated:
        return Components(name, None if variance is None else variance**0.5, None, None)
    # Raw means of few replicates differ by chance too, which is removed. Estimates are shrunk, so they cannot be used.
    luck = float((estimate.noise**2 / estimate.count[whole]).mean())
    spread = None if variance is None else max(0.0, variance - luck) ** 0.5
    return Components(name, spread, estimate.seeds, estimate.noise)


def in_words(parts: Components) -> str:
    """The size of each component, as sentences."""
    named = {"configurations": parts.configurations, "seeds": parts.seeds, "the rest": parts.rest}
    sizes = ", ".join(f"{name} {'unknown' if sd is None else f'{sd:.4f}'}" for name, sd in named.items())
    if parts.seeds is None or not parts.configurations:
        return f"Standard deviation between {sizes}."
    luck = (parts.seeds**2 + parts.rest**2) ** 0.5
    return f"Standard deviation between {sizes}. A single run is off by {luck:.4f} because of its seed alone."


def chart(results: Results) -> Chart | str:
    """The standard deviations as bars, side by side for the score and every language."""
    known = components(results)
    if not known:
        return "Every configuration has failed runs, so the spread is unknown."
    x = list(range(len(known)))
    bars = (
        ("configurations", BLUE, [parts.configurations for parts in known]),
        ("seeds (the same for all configurations)", ORANGE, [parts.seeds for parts in known]),
        ("the rest", GREEN, [parts.rest for parts in known]),
    )
    look = {"type": "bar", "x": x, "hovertemplate": "%{y:.4f}"}
    data = [
        look | {"name": name, "y": sds, "marker": {"color": colour}}
        for name, colour, sds in bars
        if any(sd is not None for sd in sds)
    ]
    names = ["selection score" if parts.name == results.selection.label else label(parts.name) for parts in known]
    layout = {
        "barmode": "group",
        "legend": LEGEND,
        "xaxis": {"tickvals": x, "ticktext": names, "automargin": True},
        "yaxis": {"title": {"text": "standard deviation"}, "automargin": True},
    }
    text = " ".join(f"{parts.name}: {in_words(parts)}" for parts in known)
    unknown = " No configuration has two replicates, so seeds and the rest are unknown; the rest is in the first bar."
    return Chart("components", "", text, CAPTION + (unknown if known[0].seeds is None else ""), data, layout)
