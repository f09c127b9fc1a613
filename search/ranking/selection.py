"""The signal that ranks: which of a run's metrics count, and how they become one score.

Metrics are named `split/metric/language`, for example `dev/macro_f1/bel`. Everything that is not selected on is audit:
recorded, shown, never ranked on.
"""

from dataclasses import dataclass
from statistics import fmean

import numpy as np

from seedwise.search.ledger.state import PRUNED, SEARCH, Run, State
from seedwise.search.ranking.estimate import Table

AGGREGATES = {"mean": fmean, "worst": min}


@dataclass(frozen=True)
class Selection:
    """How runs are ranked.

    `on` is source_dev (honest zero-shot), pivot_dev (labelled dev sets of languages that are never reported),
    unlabelled (all languages, by a metric that needs no labels), metric (`metric` is its full name) or target_dev (an
    oracle: it uses target labels or translations and is always labelled so). `aggregate` joins several languages: mean,
    or worst for the lowest. `second` is another objective and its direction: a Pareto front in the leaderboard, which
    does not rank.
    """

    metric: str
    on: str
    aggregate: str
    source: str
    targets: tuple[str, ...]
    pivots: tuple[str, ...] = ()
    second: tuple[str, str] | None = None

    @classmethod
    def from_specification(cls, specification: dict) -> "Selection":
        """From a resolved specification, as it is in search.yaml and in the ledger's first line."""
        task, select = specification.get("task") or {}, specification["select"]
        second = select.get("second")
        return cls(
            select["metric"],
            select["on"],
            select["aggregate"],
            task.get("source", ""),
            tuple(task.get("targets", ())),
            tuple(task.get("pivots") or ()),
            (second["by"], second["goal"]) if second else None,
        )

    @property
    def oracle(self) -> bool:
        return self.on == "target_dev"

    @property
    def label(self) -> str:
        """How the score is called wherever it is shown."""
        if self.on == "metric":
            return self.metric
        several = "" if self.on == "source_dev" else f" ({self.aggregate})"
        return f"{self.metric} on {self.on}{several}" + (", oracle" if self.oracle else "")

    @property
    def names(self) -> list[str]:
        """The metrics that the score is made of."""
        if self.on == "metric":
            return [self.metric]
        languages = {
            "source_dev": (self.source,),
            "pivot_dev": self.pivots,
            "target_dev": self.targets,
            "unlabelled": (self.source, *self.targets),
        }[self.on]
        return [f"dev/{self.metric}/{language}" for language in languages]

    @property
    def audit(self) -> list[str]:
        """The same metric where it is recorded but never ranked on."""
        languages = [language for language in (self.source, *self.pivots, *self.targets) if language]
        return [name for language in languages if (name := f"dev/{self.metric}/{language}") not in self.names]

    def score(self, metrics: dict[str, float]) -> float | None:
        """The one number that ranks a run; None where a metric it needs was not reported."""
        values = [metrics.get(name) for name in self.names]
        return None if None in values or not values else AGGREGATES[self.aggregate](values)

    def scores(self, state: State, phase: str = SEARCH) -> dict[str, dict[int, float]]:
        """Scores of all finished runs of a phase: configuration id -> replicate -> score. Pruned runs and baselines
        have none.

        A failure is data: a run that failed counts as the lowest score that any run of the search reached, its own last
        one included, so that a configuration is never better for having failed.
        """
        runs = (run for run in state.runs() if not state.configurations[run.config_id].baseline)
        finished = [(run, self.score(run.metrics)) for run in runs if run.finished and run.status != PRUNED]
        lowest = min((score for _, score in finished if score is not None), default=0.0)
        table: dict[str, dict[int, float]] = {}
        for run, score in finished:
            if run.phase == phase:
                table.setdefault(run.config_id, {})[run.replicate] = lowest if self.failed(run, score) else score
        return table

    @staticmethod
    def failed(run: Run, score: float | None) -> bool:
        return run.failed or score is None

    def table(self, state: State) -> Table:
        """The scores of the search phase as the estimate takes them. Configurations that were pruned are not in it."""
        ids, cells = [], []
        for configuration in state.configurations.values():
            runs = [run for run in configuration.of_phase(SEARCH) if run.finished]
            if runs and not configuration.baseline and not configuration.pruned:
                cells += [(len(ids), run) for run in runs]
                ids.append(configuration.config_id)
        columns = {replicate: index for index, replicate in enumerate(sorted({run.replicate for _, run in cells}))}
        values = np.full((len(ids), len(columns)), np.nan)
        failed, last = np.zeros(values.shape, dtype=bool), values.copy()
        for row, run in cells:
            score, column = self.score(run.metrics), columns[run.replicate]
            failed[row, column] = self.failed(run, score)
            if score is not None:
                (last if failed[row, column] else values)[row, column] = score
        return Table(tuple(ids), values, failed, last)
