"""The signal that ranks: which of a run's metrics count, and how they become one score.

Metrics are named `split/metric/language`, for example `dev/macro_f1/bel`. Everything that is not selected on is audit:
recorded, shown, never ranked on.
"""

from dataclasses import dataclass
from statistics import fmean

from search.ledger import State

AGGREGATES = {"mean": fmean, "worst": min}


@dataclass(frozen=True)
class Selection:
    """How runs are ranked.

    `on` is source_dev (honest zero-shot) or target_dev (an oracle: it uses target labels and is always labelled so);
    `aggregate` joins several languages: mean, or worst for the lowest of them.
    """

    metric: str
    on: str
    aggregate: str
    source: str
    targets: tuple[str, ...]

    @classmethod
    def of(cls, specification: dict) -> "Selection":
        """From a resolved specification, as it stands in search.yaml and in the ledger's first line."""
        task, select = specification.get("task") or {}, specification["select"]
        return cls(
            select["metric"], select["on"], select["aggregate"], task.get("source", ""), tuple(task.get("targets", ()))
        )

    @property
    def oracle(self) -> bool:
        return self.on == "target_dev"

    @property
    def label(self) -> str:
        """How the score is called wherever it is shown."""
        if self.on == "metric":
            return self.metric
        return f"{self.metric} on {self.on}" + (f" ({self.aggregate}), oracle" if self.oracle else "")

    @property
    def names(self) -> list[str]:
        """The metrics that the score is made of."""
        if self.on == "metric":
            return [self.metric]
        languages = self.targets if self.oracle else (self.source,)
        return [f"dev/{self.metric}/{language}" for language in languages]

    @property
    def audit(self) -> list[str]:
        """The same metric where it is recorded but never ranked on."""
        languages = [language for language in (self.source, *self.targets) if language]
        return [name for language in languages if (name := f"dev/{self.metric}/{language}") not in self.names]

    def score(self, metrics: dict[str, float]) -> float | None:
        """The one number that ranks a run; None where a metric it needs was not reported."""
        values = [metrics.get(name) for name in self.names]
        return None if None in values else AGGREGATES[self.aggregate](values)

    def scores(self, state: State) -> dict[str, dict[int, float]]:
        """Scores of all finished runs: configuration id -> replicate -> score.

        A failure is data: a run that failed counts as the lowest score that any run of the search reached, its own last
        one included, so that a configuration is never better for having failed.
        """
        finished = [run for run in state.runs() if run.finished]
        reached = {(run.config_id, run.replicate): self.score(run.metrics) for run in finished}
        lowest = min((score for score in reached.values() if score is not None), default=0.0)
        table: dict[str, dict[int, float]] = {}
        for run in finished:
            score = reached[run.config_id, run.replicate]
            table.setdefault(run.config_id, {})[run.replicate] = lowest if run.failed or score is None else score
        return table
