"""The scores of all configurations, brought up to date one result at a time."""

import heapq
import math
from collections import defaultdict

from seedwise.search.ledger.state import CONFIRM, PRUNED, SEARCH, Configuration, Run, State
from seedwise.search.ranking.estimate import Summary, summary
from seedwise.search.ranking.selection import Selection

Row = dict[int, float | None]  # scores of one configuration by replicate


class Scores:
    """What `Selection.scores` and `scores_of` say of a state, for the work of what changed.

    A result changes the scores of its own configuration. Failed runs count as the lowest score, so when a result is the
    lowest so far, it changes every configuration with a failed run too.
    """

    def __init__(self, state: State, selection: Selection) -> None:
        self.rows: dict[str, tuple[Row, Row]] = {}  # of the search and of the confirmation
        self.summaries: dict[str, Summary] = {}  # of the search, without baselines
        self.count = 0  # scores of the search, baselines included
        self.replicated = False  # whether any configuration has two scores of its own: see `Estimate.replicated`
        self.selection = selection
        self._state = state
        self._lowest: dict[str, float] = {}  # by pool
        self._failed: dict[str, set[str]] = defaultdict(set)  # configurations with failed runs, by pool
        self._ranking: list[tuple[float, str]] = []  # a heap of (-mean, configuration); may hold former means

    def add(self, run: Run) -> list[str]:
        """Take in a run that has ended; the configurations whose scores are not what they were."""
        one = self._state.configurations[run.config_id]
        if run.status == PRUNED and not one.baseline:
            return []
        pool, score, changed = _pool(one, run), self.selection.score(run.metrics), {run.config_id}
        if self._counts_as_lowest(one, run, score):
            self._failed[pool].add(run.config_id)
        if score is not None and score < self._lowest.get(pool, math.inf):
            self._lowest[pool] = score
            changed |= self._failed[pool]
        return [config_id for config_id in sorted(changed) if self._update(self._state.configurations[config_id])]

    @property
    def best(self) -> str:
        """The configuration with the highest mean in the search; the first by id of several."""
        while -self._ranking[0][0] != self.summaries[self._ranking[0][1]].mean:
            heapq.heappop(self._ranking)
        return self._ranking[0][1]

    def _update(self, one: Configuration) -> bool:
        """Score a configuration anew; whether it has any score."""
        now: dict[str, Row] = {SEARCH: {}, CONFIRM: {}}
        own = 0  # scores of the search that no rule has set
        for run in one.runs.values():
            if run.phase in now and run.finished and (one.baseline or run.status != PRUNED):
                score = self.selection.score(run.metrics)
                lowest = self._counts_as_lowest(one, run, score)
                own += run.phase == SEARCH and not lowest and score is not None
                now[run.phase][run.replicate] = self._lowest.get(_pool(one, run), 0.0) if lowest else score
        self.count += len(now[SEARCH]) - len(self.rows.get(one.config_id, ((), ()))[0])
        self.rows[one.config_id] = now[SEARCH], now[CONFIRM]
        if now[SEARCH] and not one.baseline:
            self.replicated |= own >= 2
            self.summaries[one.config_id] = summary(list(now[SEARCH].values()))
            heapq.heappush(self._ranking, (-self.summaries[one.config_id].mean, one.config_id))
        return any(now.values())

    def _counts_as_lowest(self, one: Configuration, run: Run, score: float | None) -> bool:
        """A baseline may not report the score that ranks, which is no failure of it."""
        return run.failed if one.baseline else self.selection.failed(run, score)


def _pool(one: Configuration, run: Run) -> str:
    """Runs among which the lowest score is looked for: all of the method, or those of baselines in one phase."""
    return run.phase if one.baseline else ""
