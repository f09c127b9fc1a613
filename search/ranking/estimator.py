"""How the configurations of a search stand: the estimate of its ledger, kept until the next result."""

from dataclasses import dataclass, field
from functools import cache

from threadpoolctl import ThreadpoolController

from seedwise.search.ledger.state import State
from seedwise.search.ranking.estimate import Estimate, estimate
from seedwise.search.ranking.selection import Selection
from seedwise.spaces import Space
from seedwise.spaces.features import features


@dataclass
class Standing:
    """`of(state)` is the estimate; with a space, configurations shrink towards a surrogate over it.

    One thread computes it: a sum split over several rounds differently, and the same ledger must give the same answer
    on every machine of a kind.
    """

    selection: Selection
    space: Space | None = None
    _kept: tuple[State, int, Estimate | None] | None = field(default=None, repr=False)

    def of(self, state: State) -> Estimate | None:
        """None until a run of the search phase has finished. Confirmation does not change how the search stands."""
        if self._kept and self._kept[0] is state and self._kept[1] == state.results:
            return self._kept[2]
        table = self.selection.table(state)
        found = None
        if table.ids:
            with _threads().limit(limits=1):
                params = [state.configurations[config_id].params for config_id in table.ids]
                found = estimate(table, None if self.space is None else features(self.space, params))
        self._kept = (state, state.results, found)
        return found


@cache
def _threads() -> ThreadpoolController:
    return ThreadpoolController()  # looking for the libraries takes milliseconds
