"""Scores over seeds, by metric and language: mean, spread, interval, and the number of runs without the score."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property

from seedwise.search.ledger.state import Run, State
from seedwise.search.ranking.run_scores import counts
from seedwise.search.ranking.selection import Selection
from seedwise.search.ranking.summary import NO_POOL, Pool, bounds_of, summary
from seedwise.text import spread

MEAN_ALL, MEAN_TARGETS = "mean_all", "mean_targets"  # take the place of a language; papers report mean_all
SCORE = "score"  # the key of the score that ranks among metrics
SPLITS = ("dev/", "test/")  # how the names of metrics on labelled sets begin
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
            if not of.startswith(SPLITS) or of.partition("/")[2].startswith(COUNTS):
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


@dataclass(frozen=True)
class Pools:
    """The spread over seeds in a phase, by metric, over all configurations and baselines; `SCORE` is what ranks.

    Runs that share one training (`same_as`) are one group: copies would count its seeds several times.
    """

    groups: dict[str, dict[str, list[float]]]  # metric -> configuration -> values
    originals: dict[str, str]  # of configurations whose runs are copies

    @classmethod
    def of(cls, state: State, selection: Selection, phase: str, *, score_alone: bool = False) -> "Pools":
        """`score_alone` leaves out all metrics but the score, for a live view."""
        groups: dict[str, dict[str, list[float]]] = {SCORE: {}}
        originals = {}
        for config_id, configuration in state.configurations.items():
            runs = [run for run in configuration.of_phase(phase) if counts(run, configuration)]
            if copied := next((run.same_as.partition("/")[0] for run in runs if run.same_as), ""):
                originals[config_id] = copied
                continue
            scores = (selection.score(run.metrics) for run in runs if not run.failed)
            groups[SCORE][config_id] = [score for score in scores if score is not None]
            for name, values in {} if score_alone else values_of(runs, selection).items():
                groups.setdefault(name, {})[config_id] = values
        return cls(groups, originals)

    @cached_property
    def _totals(self) -> dict[str, Pool]:
        return {name: Pool.of(groups.values()) for name, groups in self.groups.items()}

    def others(self, name: str, config_id: str) -> Pool:
        """The seeds of all configurations but this one, and but the one whose training it shares."""
        own = self.groups.get(name, {}).get(self.originals.get(config_id, config_id), [])
        return self._totals.get(name, NO_POOL).without(own)


def per_language(runs: Sequence[Run], selection: Selection, pools: Pools | None = None) -> ByLanguage:
    """Summarise finished runs of one configuration, by metric and language. `failed` counts runs without the metric.

    Intervals need `pools`, those of the phase of these runs.
    """
    table: ByLanguage = {}
    for name, values in sorted(values_of(runs, selection).items()):
        metric, _, language = name.rpartition("/")
        others = pools.others(name, runs[0].config_id) if pools else NO_POOL
        cell = asdict(summary(values, others, bounds_of(name))) | {"failed": len(runs) - len(values)}
        keys = ("mean", "sd", "n", "failed", *(("ci_low", "ci_high") if pools else ()))
        table.setdefault(metric or name, {})[language] = {key: cell[key] for key in keys}
    return table


def cell_of(table: ByLanguage, name: str) -> dict:
    """The summary of a metric such as `dev/macro_f1/bel`; empty if no run reports it."""
    metric, _, language = name.rpartition("/")
    return table.get(metric or name, {}).get(language, {})


def count_of(cell: Mapping) -> str:
    """The number of runs behind a summary; if some runs lack the metric, of how many."""
    return f"{cell['n']} of {cell['n'] + cell['failed']}" if cell.get("failed") else str(cell["n"])


def in_words(cell: Mapping) -> str:
    """A mean with its standard deviation and, if some runs lack it, the number that have it; empty if `cell` is."""
    if not cell:
        return ""
    fewer = f", {count_of(cell)}" if cell.get("failed") else ""
    return spread(cell["mean"], cell["sd"]) + fewer


def flat(table: ByLanguage) -> dict[str, float | None]:
    """Flatten a table for a CSV file or a tracker: `dev/macro_f1/bel`, with its `_sd` and `_n` beside it."""
    columns: dict[str, float | None] = {}
    for metric, cells in table.items():
        for language, cell in cells.items():
            name = metric if language == metric else f"{metric}/{language}"
            columns |= {name: cell["mean"], f"{name}_sd": cell["sd"], f"{name}_n": cell["n"]}
    return columns
