"""Where the variance of scores comes from: configurations, seeds, and what is left, for the score and by language."""

from dataclasses import dataclass, replace

import numpy as np

from seedwise.search.drawing.chart import BLUE, GREEN, LEGEND, ORANGE, Chart, label
from seedwise.search.ranking.estimator import Estimator
from seedwise.search.ranking.results import Results

COLOURS = (BLUE, ORANGE, GREEN)
LANGUAGES = 20  # that are shown at most


@dataclass(frozen=True)
class Components:
    """Standard deviations, in units of the score. Those of seeds and the rest are None without replicates.

    `configurations` is the sd of the true means of configurations that never failed, `seeds` that of the replicates'
    effects, which all configurations share, `rest` that of what neither explains. Without replicates the rest cannot be
    taken out of `configurations`.
    """

    name: str
    configurations: float | None
    seeds: float | None
    rest: float | None


def components(found: Results) -> list[Components]:
    """Of the score that ranks, then of the same metric in every language that has it."""
    tables = {found.selection.label: found.estimator}
    if found.selection.on != "metric":
        several = found.selection.names if len(found.selection.names) > 1 else []  # a single one is the score itself
        for name in [*several, *found.selection.audit][:LANGUAGES]:
            tables[name.rpartition("/")[2]] = Estimator(replace(found.selection, metric=name, on="metric", second=None))
    return [one for name, estimator in tables.items() if (one := _components(found, name, estimator)) is not None]


def _components(found: Results, name: str, estimator: Estimator) -> Components | None:
    estimate = estimator.estimate(found.state)
    whole = estimate.failed == 0
    if not whole.any():
        return None
    variance = float(np.var(estimate.raw[whole], ddof=1)) if whole.sum() > 1 else None
    if not estimate.replicated:
        return Components(name, None if variance is None else variance**0.5, None, None)
    # Means of few replicates differ by the rest alone. Estimates would not: they are drawn together.
    luck = float((estimate.noise**2 / estimate.count[whole]).mean())
    spread = None if variance is None else max(0.0, variance - luck) ** 0.5
    return Components(name, spread, estimate.seeds, estimate.noise)


def in_words(one: Components) -> str:
    """Which part of the spread is how large."""
    parts = [("configurations", one.configurations), ("seeds", one.seeds), ("the rest", one.rest)]
    told = ", ".join(f"{name} {'unknown' if sd is None else f'{sd:.4f}'}" for name, sd in parts)
    if one.seeds is None or not one.configurations:
        return f"Standard deviation between {told}."
    luck = (one.seeds**2 + one.rest**2) ** 0.5
    return f"Standard deviation between {told}. By its seed alone a single run is off by {luck:.4f}."


def chart(found: Results) -> Chart | str:
    """The standard deviations as bars, side by side for the score and every language."""
    known = components(found)
    if not known:
        return "Every configuration has failed runs: no spread can be told."
    parts = {
        "configurations": [one.configurations for one in known],
        "seeds (the same for all configurations)": [one.seeds for one in known],
        "the rest": [one.rest for one in known],
    }
    data = [
        {
            "type": "bar",
            "name": name,
            "x": list(range(len(known))),
            "y": values,
            "marker": {"color": colour},
            "hovertemplate": "%{y:.4f}",
        }
        for (name, values), colour in zip(parts.items(), COLOURS, strict=True)
        if any(value is not None for value in values)
    ]
    layout = {
        "barmode": "group",
        "legend": LEGEND,
        "xaxis": {
            "tickvals": list(range(len(known))),
            "ticktext": ["selection score" if one.name == found.selection.label else label(one.name) for one in known],
            "automargin": True,
        },
        "yaxis": {"title": {"text": "standard deviation"}, "automargin": True},
    }
    text = " ".join(f"{one.name}: {in_words(one)}" for one in known)
    caption = (
        "Standard deviations in units of the score. Configurations: of their means, less what the rest adds to those. "
        "Seeds: effects that a replicate has on all configurations, which pairing takes out of comparisons. The rest: "
        "what neither explains."
    )
    if known[0].seeds is None:
        caption += (
            " No configuration has two replicates, so seeds and the rest are unknown, and the rest is in the first."
        )
    return Chart("components", "", text, caption, data, layout)
