"""The scores of all configurations, updated one result at a time."""

import heapq
import math
from collections import defaultdict

from seedwise.search.ledger.state import CONFIRM, SEARCH, Configuration, Run, State
from seedwise.search.ranking.run_scores import Row, counts, known, lacks_score, worst_of
from seedwise.search.ranking.selection import Selection
from seedwise.search.ranking.summary import Summary, summary


class Scores:
    """The result of `scores_of` for a growing state. Adding a run costs only as much as the scores that it changes.

    A result changes the scores of its configuration. Failed runs count as a value that depends on the lowest and
    highest score of their pool; if that changes, so do the scores of every configuration with a failed run in the pool.
    """

    def __init__(self, state: State, selection: Selection) -> None:
        self.rows: dict[str, tuple[Row, Row]] = {}  # (search, confirmation)
        self.summaries: dict[str, Summary] = {}  # of the search, without baselines
        self.count = 0  # scores of the search, baselines included
        self.replicated = False  # whether any configuration has two measured scores, as in `Estimate.replicated`
        self.selection = selection
        self._state = state
        self._ends: dict[tuple[bool, str], tuple[float, float]] = {}  # lowest and highest score, by pool
        self._failed: dict[tuple[bool, str], set[str]] = defaultdict(set)  # configurations with failed runs, by pool
        self._ranking: list[tuple[float, str]] = []  # a heap of (-mean, configuration), outdated means included

    def add(self, run: Run) -> list[str]:
        """Add a run that has ended. Returns the configurations whose scores changed."""
        configuration = self._state.configurations[run.config_id]
        if not counts(run, configuration):
            return []
        pool, changed = _pool(configuration, run), {run.config_id}
        score = self.selection.score(run.metrics)
        if lacks_score(run, score, configuration):
            self._failed[pool].add(run.config_id)
        if score is not None:
            low, high = self._ends.get(pool, (math.inf, -math.inf))
            self._ends[pool] = ends = min(low, score), max(high, score)
            if low > high or worst_of(*ends, self.selection.bounds) != worst_of(low, high, self.selection.bounds):
                changed |= self._failed[pool]
        return [config_id for config_id in sorted(changed) if self._update(self._state.configurations[config_id])]

    @property
    def best(self) -> str:
        """The configuration with the highest mean in the search; ties are broken by id."""
        while -self._ranking[0][0] != self.summaries[self._ranking[0][1]].mean:
            heapq.heappop(self._ranking)
        return self._ranking[0][1]

    def _update(self, configuration: Configuration) -> bool:
        """Score a configuration anew. Returns whether it has any score."""
        rows: dict[str, Row] = {SEARCH: {}, CONFIRM: {}}
        measured = 0  # runs of the search with a score
        for run in configuration.runs.values():
            if run.phase in rows and counts(run, configuration):
                score, ends = self.selection.score(run.metrics), self._ends.get(_pool(configuration, run))
                failed = lacks_score(run, score, configuration)
                measured += run.phase == SEARCH and not failed and score is not None
                worst = worst_of(*ends, self.selection.bounds) if ends else None
                rows[run.phase][run.replicate] = worst if failed else score
        key, searched = configuration.config_id, rows[SEARCH]
        self.count += len(searched) - len(self.rows.get(key, ((), ()))[0])
        self.rows[key] = searched, rows[CONFIRM]
        if (scores := known(searched)) and not configuration.baseline:
            self.replicated |= measured >= 2
            self.summaries[key] = summary(scores)
            heapq.heappush(self._ranking, (-self.summaries[key].mean, key))
        return any(rows.values())


def _pool(configuration: Configuration, run: Run) -> tuple[bool, str]:
    """The pool of a run: the method or its baselines, in one phase. All failed runs of a pool count as one score."""
    return bool(configuration.baseline), run.phase
