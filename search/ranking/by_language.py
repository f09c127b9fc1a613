"""Scores over seeds, by metric and language: mean, spread, interval, and the number of runs without the score."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict

from seedwise.search.ledger.state import Run, State
from seedwise.search.ranking.run_scores import counts
from seedwise.search.ranking.selection import Selection
from seedwise.search.ranking.summary import NO_POOL, Pool, bounds_of, summary
from seedwise.text import spread

MEAN_ALL, MEAN_TARGETS = "mean_all", "mean_targets"  # take the place of a language; papers report mean_all
COUNTS = ("predicted_classes", "share_of_")  # prefixes of metrics whose mean over languages means nothing

ByLanguage = dict[str, dict[str, dict]]  # {"dev/macro_f1": {"bel": {"mean": 0.8, "sd": 0.01, "n": 5, "failed": 0}}}


def with_means(metrics: Mapping[str, float], selection: Selection) -> dict[str, float]:
    """Add to the metrics of a run the mean over languages of each metric that every language has.

    `dev/macro_f1/mean_all` averages source and targets, `dev/macro_f1/mean_targets` two or more targets.
    """
    means, targets, every = {}, selection.targets, (selection.source, *selection.targets)
    if targets:
        for name in [name for name in metrics if name.endswith(f"/{targets[0]}")]:
            of = name.removesuffix(targets[0])
            if of.partition("/")[2].startswith(COUNTS):
                continue
            for mean, languages in ((MEAN_ALL, every), (MEAN_TARGETS, targets)):
                values = [metrics.get(of + language) for language in languages]
                if len(values) > 1 and None not in values:
                    means[of + mean] = sum(values) / len(values)
    return {**metrics, **means}


def values_of(runs: Iterable[Run], selection: Selection) -> dict[str, list[float]]:
    """The values of every metric. Failed runs are left out: their metrics come from unfinished training."""
    values: dict[str, list[float]] = {}
    for run in runs:
        if not run.failed:
            for name, value in with_means(run.metrics, selection).items():
                values.setdefault(name, []).append(value)
    return values


def pools_of(state: State, selection: Selection, phase: str) -> dict[str, Pool]:
    """The spread over seeds of each metric in a phase, pooled over all configurations and baselines."""
    groups: dict[str, list[list[float]]] = {}
    for configuration in state.configurations.values():
        runs = [run for run in configuration.of_phase(phase) if counts(run, configuration)]
        for name, values in values_of(runs, selection).items():
            groups.setdefault(name, []).append(values)
    return {name: Pool.of(lists) for name, lists in groups.items()}


def per_language(runs: Sequence[Run], selection: Selection, pools: Mapping[str, Pool] | None = None) -> ByLanguage:
    """Summarise finished runs of one configuration, by metric and language. `failed` counts runs without the metric.

    Intervals need `pools`, the pools of the phase of these runs.
    """
    table: ByLanguage = {}
    for name, values in sorted(values_of(runs, selection).items()):
        metric, _, language = name.rpartition("/")
        others = pools[name].without(values) if pools else NO_POOL
        cell = asdict(summary(values, others, bounds_of(name))) | {"failed": len(runs) - len(values)}
        keys = ("mean", "sd", "n", "failed", *(("ci_low", "ci_high") if pools else ()))
        table.setdefault(metric or name, {})[language] = {key: cell[key] for key in keys}
    return table


def cell_of(table: ByLanguage, name: str) -> dict:
    """The summary of a metric such as `dev/macro_f1/bel`; empty if no run reports it."""
    metric, _, language = name.rpartition("/")
    return table.get(metric or name, {}).get(language, {})


def in_words(cell: Mapping) -> str:
    """A mean with its standard deviation and, if some runs lack it, the number that have it; empty if `cell` is."""
    if not cell:
        return ""
    fewer = f", {cell['n']} of {cell['n'] + cell['failed']}" if cell.get("failed") else ""
    return spread(cell["mean"], cell["sd"]) + fewer


def flat(table: ByLanguage) -> dict[str, float | None]:
    """Flatten a table for a CSV file or a tracker: `dev/macro_f1/bel`, with its `_sd` and `_n` beside it."""
    columns: dict[str, float | None] = {}
    for metric, cells in table.items():
        for language, cell in cells.items():
            name = metric if language == metric else f"{metric}/{language}"
            columns |= {name: cell["mean"], f"{name}_sd": cell["sd"], f"{name}_n": cell["n"]}
    return columns
