"""The scores of all configurations, updated one result at a time."""

import heapq
import math
from collections import defaultdict

from seedwise.search.ledger.state import CONFIRM, PRUNED, SEARCH, Configuration, Run, State
from seedwise.search.ranking.estimate import Summary, summary
from seedwise.search.ranking.selection import Selection

Row = dict[int, float | None]  # scores of one configuration by replicate


class Scores:
    """What `Selection.scores` and `scores_of` say of a state, at the cost of what a result changes.

    A result changes the scores of its own configuration. Failed runs count as the lowest score, so a new lowest score
    changes every configuration with a failed run too.
    """

    def __init__(self, state: State, selection: Selection) -> None:
        self.rows: dict[str, tuple[Row, Row]] = {}  # of the search and of the confirmation
        self.summaries: dict[str, Summary] = {}  # of the search, without baselines
        self.count = 0  # scores of the search, baselines included
        self.replicated = False  # whether a configuration has two scores of its own: see `Estimate.replicated`
        self.selection = selection
        self._state = state
        self._lowest: dict[str, float] = {}  # by pool
        self._failed: dict[str, set[str]] = defaultdict(set)  # configurations with failed runs, by pool
        self._ranking: list[tuple[float, str]] = []  # a heap of (-mean, configuration), outdated means included

    def add(self, run: Run) -> list[str]:
        """Take a run that has ended; the configurations whose scores changed."""
        configuration = self._state.configurations[run.config_id]
        if run.status == PRUNED and not configuration.baseline:
            return []
        pool, changed = _pool(configuration, run), {run.config_id}
        score, failed = self._score(configuration, run)
        if failed:
            self._failed[pool].add(run.config_id)
        if score is not None and score < self._lowest.get(pool, math.inf):
            self._lowest[pool] = score
            changed |= self._failed[pool]
        return [config_id for config_id in sorted(changed) if self._update(self._state.configurations[config_id])]

    @property
    def best(self) -> str:
        """The configuration with the highest mean in the search; of several, the first by id."""
        while -self._ranking[0][0] != self.summaries[self._ranking[0][1]].mean:
            heapq.heappop(self._ranking)
        return self._ranking[0][1]

    def _update(self, configuration: Configuration) -> bool:
        """Score a configuration anew; whether it has any score."""
        rows: dict[str, Row] = {SEARCH: {}, CONFIRM: {}}
        measured = 0  # scores of the search that do not count as the lowest
        for run in configuration.runs.values():
            if run.phase in rows and run.finished and (configuration.baseline or run.status != PRUNED):
                score, failed = self._score(configuration, run)
                measured += run.phase == SEARCH and not failed and score is not None
                lowest = self._lowest.get(_pool(configuration, run), 0.0)
                rows[run.phase][run.replicate] = lowest if failed else score
        key, searched = configuration.config_id, rows[SEARCH]
        self.count += len(searched) - len(self.rows.get(key, ((), ()))[0])
        self.rows[key] = searched, rows[CONFIRM]
        if searched and not configuration.baseline:
            self.replicated |= measured >= 2
            self.summaries[key] = summary(list(searched.values()))
            heapq.heappush(self._ranking, (-self.summaries[key].mean, key))
        return any(rows.values())

    def _score(self, configuration: Configuration, run: Run) -> tuple[float | None, bool]:
        """A run's score, and whether the run counts as the lowest. A baseline need not report the score that ranks."""
        score = self.selection.score(run.metrics)
        return score, run.failed if configuration.baseline else self.selection.failed(run, score)


def _pool(configuration: Configuration, run: Run) -> str:
    """Runs that share a lowest score: all of the method, or those of baselines in one phase."""
    return run.phase if configuration.baseline else ""
