"""The score that ranks: it is computed from selected metrics of a run.

Metrics are named `split/metric/language`, for example `dev/macro_f1/bel`. Metrics that are not selected are audit: they
are recorded and shown, but never rank.
"""

from dataclasses import dataclass
from statistics import fmean

from seedwise.search.ranking.summary import bounds_of

AGGREGATES = {"mean": fmean, "worst": min}


@dataclass(frozen=True)
class Selection:
    """How runs are ranked.

    `on` is source_dev (honest zero-shot), pivot_dev (labelled dev sets of languages that are never reported),
    unlabelled (all languages, by a metric that needs no labels), metric (`metric` is its full name) or target_dev (an
    oracle, always labelled so: it uses target labels or translations). `aggregate` joins several languages: mean, or
    worst for the lowest. `second` is another objective and its direction: it marks a Pareto front in the
    leaderboard, but does not rank.
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
        """Read the selection from a resolved specification, as in search.yaml and in the ledger's first line."""
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
        """The name of the score wherever it is shown."""
        if self.on == "metric":
            return self.metric
        several = "" if self.on == "source_dev" else f" ({self.aggregate})"
        return f"{self.metric} on {self.on}{several}" + (", oracle" if self.oracle else "")

    @property
    def names(self) -> list[str]:
        """The metrics that the score is computed from."""
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
    def bounds(self) -> tuple[float, float]:
        """The lowest and the highest possible score; infinite if unknown."""
        return bounds_of(next(iter(self.names), ""))

    @property
    def audit(self) -> list[str]:
        """The names of the same metric in the languages that do not rank."""
        languages = [language for language in (self.source, *self.pivots, *self.targets) if language]
        return [name for language in languages if (name := f"dev/{self.metric}/{language}") not in self.names]

    def score(self, metrics: dict[str, float]) -> float | None:
        """The number that ranks a run; None if the run did not report a metric that this needs."""
        values = [metrics.get(name) for name in self.names]
        return None if None in values or not values else AGGREGATES[self.aggregate](values)
