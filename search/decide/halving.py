"""The policy of successive halving, over replicates."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from seedwise.search.decide.policy import Action, Adaptive, New, Replicate, free_replicate
from seedwise.search.ledger.state import State
from seedwise.search.ranking.estimate import Estimate


@dataclass(frozen=True, kw_only=True)
class Halving(Adaptive):
    """Successive halving: the best 1 / `eta` of the configurations with r replicates get eta * r, up to `max`.

    Asynchronous: a configuration that is among the best so far is promoted at once. If the budget leaves no runs for
    another configuration and none can be promoted, the next best is promoted, so that no worker idles.
    """

    eta: Annotated[int, Field(ge=2)] = 3

    def choose(self, state: State, *, more: bool) -> Action:
        estimate = self.estimator.estimate(state)
        if estimate is None:
            return New("nothing has finished yet") if more else self.fill(state, self.max)
        for goal in reversed(self.rungs()[1:]):
            if promoted := self._promoted(state, estimate, goal, share=self.eta):
                return promoted
        for configuration in state.tally.short_of(self.min):
            if not self.waits(configuration):
                replicate = free_replicate(configuration)
                return Replicate(configuration.config_id, replicate, f"seed {replicate + 1} of {self.min}")
        affordable = self.configurations()
        if more and (affordable is None or len(state.configurations) < affordable):
            return New("the first rung has room")
        for goal in self.rungs()[1:]:
            if promoted := self._promoted(state, estimate, goal, share=1):
                return promoted
        return New("every configuration has all its replicates") if more else self.fill(state, self.max)

    def _promoted(self, state: State, estimate: Estimate, goal: int, *, share: int) -> Replicate | None:
        """A replicate for the best configuration that may climb to the rung `goal` and has not reached it yet.

        Of the configurations that have passed the rung below, the best 1 / `share` may climb.
        """
        passed = [index for index in estimate.ranking if estimate.count[index] >= goal // self.eta]
        for index in passed[: len(passed) // share]:
            configuration = state.configurations[estimate.ids[index]]
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
        """As many as leave enough runs for the upper rungs, each of which costs (eta - 1) / eta of the first rung."""
        if self.runs is None:
            return None
        cost = self.min * (1 + (len(self.rungs()) - 1) * (self.eta - 1) / self.eta)
        return max(1, int((self.runs - self.reserve) / cost))
