"""The results of a search, computed from its ledger for files, reports, comparisons and notebooks."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from seedwise.errors import RequestError
from seedwise.search.ledger.state import CONFIRM, SEARCH, Run, State
from seedwise.search.ranking.baseline_scores import varying
from seedwise.search.ranking.by_language import MEAN_ALL, MEAN_TARGETS
from seedwise.search.ranking.estimate import Estimate
from seedwise.search.ranking.estimator import Estimator
from seedwise.search.ranking.leaderboard import best_baselines, chosen, leaderboard, underspecification
from seedwise.search.ranking.run_scores import Row, lacks_score, scores_of
from seedwise.search.ranking.selection import Selection
from seedwise.spaces import Space
from seedwise.text import short

MAX_CHARTED = 30  # configurations in a chart: a reader cannot tell more apart


@dataclass(frozen=True)
class Results:
    """The results of one state of a ledger, each computed once. Create new results when the state changes."""

    state: State
    estimator: Estimator
    load_space: Callable[[], Space | None] = lambda: None  # raises RequestError if a user's space is gone

    @property
    def selection(self) -> Selection:
        return self.estimator.selection

    @cached_property
    def leaderboard(self) -> list[dict]:
        """The rows of leaderboard.json, best first; empty until a run has finished."""
        return leaderboard(self.state, self.estimator)

    @cached_property
    def rows(self) -> list[dict]:
        """The rows to show to users. Without replicates they lack estimate intervals, which would be a guess."""
        unknown = {"estimate_low": None, "estimate_high": None}
        return [row if row["replicated"] else row | unknown for row in self.leaderboard]

    @cached_property
    def underspecification(self) -> dict | None:
        """The price of choosing without target labels; see `leaderboard.underspecification`."""
        return underspecification(self.state, self.estimator)

    @property
    def estimate(self) -> Estimate:
        """The estimate of all configurations. Use it only if there are rows."""
        return self.estimator.estimate(self.state)

    @cached_property
    def ranked(self) -> list[dict]:
        """Rows of the configurations that compete, best first, without baselines and pruned configurations."""
        return [row for row in self.rows if row["estimate"] is not None]

    def scores(self, phase: str, selection: Selection | None = None) -> dict[str, Row]:
        """The score that every finished run counts with, by any `selection`: configuration id -> replicate -> score."""
        return scores_of(self.state, selection or self.selection, phase)

    def lacks_score(self, run: Run, selection: Selection | None = None) -> bool:
        """Whether a finished run has no score of its own, by any `selection`."""
        score = (selection or self.selection).score(run.metrics)
        return lacks_score(run, score, self.state.configurations[run.config_id])

    def only_failed(self, config_id: str, phase: str = SEARCH) -> bool:
        """Whether all runs of a phase failed or have no score, so that the number they count as was never measured."""
        configuration = self.state.configurations[config_id]
        return all(self.lacks_score(run) for run in configuration.of_phase(phase) if run.finished)

    @cached_property
    def fresh_intervals_too_short(self) -> bool:
        """Whether fresh runs predict a single class, and seeds are too few for intervals with 95 % coverage.

        That takes five seeds of three configurations or baselines that share no training; docs/decisions.md gives the
        coverage with fewer.
        """
        fresh = {row["config_id"]: row["fresh"] for row in self.leaderboard if row["fresh"]}
        runs = {config_id: self.state.configurations[config_id].of_phase(CONFIRM) for config_id in fresh}
        trained = [config_id for config_id in fresh if not any(run.same_as for run in runs[config_id])]
        few = len(trained) < 3 or min(row["replicates"] for row in fresh.values()) < 5
        return few and any(row["collapsed"] for row in fresh.values())

    @cached_property
    def measured(self) -> list[dict]:
        """The ranked rows with at least one measured score."""
        return [row for row in self.ranked if not self.only_failed(row["config_id"])]

    @cached_property
    def baselines(self) -> list[dict]:
        """The row of the best configuration of each baseline."""
        return best_baselines(self.rows)

    @property
    def charted(self) -> list[dict]:
        """Rows that a chart has room for: the best configurations, then the baselines."""
        return [*self.ranked[:MAX_CHARTED], *self.baselines]

    @property
    def left_out(self) -> str:
        """A sentence on the configurations that a chart leaves out; empty if it shows all of them."""
        more = len(self.ranked) - MAX_CHARTED
        return f"The {MAX_CHARTED} best of {len(self.ranked)} configurations are shown." if more > 0 else ""

    @cached_property
    def chosen(self) -> dict:
        """The configuration that the search chose before it saw fresh seeds; before the freeze, the best so far."""
        return chosen(self.state, self.ranked)

    @property
    def metric(self) -> str:
        """The metric that ranks, without the split and the language that `select.on: metric` may name."""
        parts = self.selection.metric.split("/")
        return parts[1] if len(parts) == 3 else self.selection.metric

    def names(self, rows: list[dict]) -> list[str]:
        """Names of rows in a chart: rank and id, or the title of a baseline."""
        ranks = {row["config_id"]: rank for rank, row in enumerate(self.ranked, start=1)}
        return [row["baseline"] or f"{ranks[row['config_id']]}. {row['config_id']}" for row in rows]

    def languages(self, names: Iterable[str]) -> list[str]:
        """Sort names of languages: source, pivots, targets, then any other language, then means."""
        order = [self.selection.source, *self.selection.pivots, *self.selection.targets, "", MEAN_TARGETS, MEAN_ALL]
        return sorted(dict.fromkeys(names), key=lambda name: order.index(name if name in order else ""))

    @cached_property
    def varying(self) -> list[str]:
        """Names of the parameters that differ between configurations."""
        return varying([row["params"] for row in self.rows if not row["baseline"]])

    def in_short(self, params: dict) -> str:
        """The parameters that distinguish a configuration, with their values, as text."""
        return " ".join(short(name, params[name]) for name in self.varying if name in params)

    @cached_property
    def space(self) -> Space | None:
        """The space that was searched; None if it is gone."""
        try:
            return self.load_space()
        except RequestError:
            return None
