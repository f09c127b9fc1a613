"""Computes the estimate of a search, and caches it until the next result."""

from dataclasses import dataclass, field
from functools import cache

from threadpoolctl import ThreadpoolController

from seedwise.search.ledger.state import State
from seedwise.search.ranking.estimate import Estimate, estimate
from seedwise.search.ranking.run_scores import table_of
from seedwise.search.ranking.selection import Selection
from seedwise.spaces import Space
from seedwise.spaces.features import features


@dataclass
class Estimator:
    """Estimates the configurations of a search; with a space, they shrink towards a surrogate over it.

    A single thread computes the estimate: sums that are split over threads round differently, and the same ledger must
    give the same answer on all machines of a kind.
    """

    selection: Selection
    space: Space | None = None
    _last: tuple[State, int, Estimate | None] | None = field(default=None, repr=False)

    def estimate(self, state: State) -> Estimate | None:
        """The estimate; None until a run of the search phase has finished. The confirmation does not change it."""
        if self._last and self._last[0] is state and self._last[1] == state.results:
            return self._last[2]
        table = table_of(state, self.selection)
        result = None
        if table.ids:
            with _thread_controller().limit(limits=1):
                params = [state.configurations[config_id].params for config_id in table.ids]
                result = estimate(table, None if self.space is None else features(self.space, params))
        self._last = (state, state.results, result)
        return result

    of = estimate  # the name in version 0.8, which users' policies may call


@cache
def _thread_controller() -> ThreadpoolController:
    return ThreadpoolController()  # cached: finding the libraries takes milliseconds
