"""The policy of successive halving, over replicates."""

from dataclasses import dataclass

from seedwise.search.decide.policy import FRESH, Action, New, Policy, Replicate, free_replicate, require
from seedwise.search.ledger.state import State
from seedwise.search.ranking.estimate import Estimate


@dataclass(frozen=True, kw_only=True)
class Halving(Policy):
    """Successive halving over replicates: the best 1 / `eta` of those with r replicates get eta * r, up to `max`.

    Asynchronous: who is among the best so far is promoted at once, and when all have been asked for and nobody can be
    promoted, the next best goes on, so that no worker idles.
    """

    min: int = 1
    max: int = 9
    eta: int = 3

    def least_replicates(self) -> int:
        return self.min

    def __post_init__(self) -> None:
        require(self.min >= 1, "min", f"{self.min} must be at least 1")
        require(self.min <= self.max < FRESH, "max", f"{self.max} must be between min: {self.min} and {FRESH - 1}")
        require(self.eta >= 2, "eta", f"{self.eta} must be at least 2")

    def choose(self, state: State, *, more: bool) -> Action:
        found = self.estimator.estimate(state)
        if found is None:
            return New("nothing has finished yet") if more else self.least(state, self.max)
        for goal in reversed(self.rungs()[1:]):
            if promoted := self._promoted(state, found, goal, all_of_them=False):
                return promoted
        for configuration in state.tally.short_of(self.min):
            if not self.waits(configuration):
                replicate = free_replicate(configuration)
                return Replicate(configuration.config_id, replicate, f"seed {replicate + 1} of {self.min}")
        pays = self.configurations()
        if more and (pays is None or len(state.configurations) < pays):
            return New("the first rung has room")
        for goal in self.rungs()[1:]:
            if promoted := self._promoted(state, found, goal, all_of_them=True):
                return promoted
        return New("everyone has all replicates") if more else self.least(state, self.max)

    def _promoted(self, state: State, found: Estimate, goal: int, *, all_of_them: bool) -> Replicate | None:
        """A replicate for the best that has passed the rung below `goal` and is not yet on it."""
        below = goal // self.eta
        passed = [index for index in found.ranking if found.count[index] >= below]
        for index in passed if all_of_them else passed[: len(passed) // self.eta]:
            configuration = state.configurations[found.ids[index]]
            if (replicate := free_replicate(configuration)) < goal:
                return Replicate(configuration.config_id, replicate, f"promoted to {goal} seeds")
        return None

    def rungs(self) -> list[int]:
        """Numbers of replicates: min, min * eta, ... up to max."""
        rungs = [self.min]
        while rungs[-1] * self.eta <= self.max:
            rungs.append(rungs[-1] * self.eta)
        return rungs

    def configurations(self) -> int | None:
        """As many as leave the upper rungs what they need: each costs (eta - 1) / eta of the first."""
        if self.runs is None:
            return None
        cost = self.min * (1 + (len(self.rungs()) - 1) * (self.eta - 1) / self.eta)
        return max(1, int((self.runs - self.reserve) / cost))
