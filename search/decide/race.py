"""The policy that spends replicates on configurations that may be the best."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from seedwise.search.decide.policy import Action, Adaptive, Count, New, Replicate, Stop, free_replicate
from seedwise.search.ledger.state import SEARCH, Configuration, State
from seedwise.search.ranking.estimate import Estimate
from seedwise.text import HOUR

Share = Annotated[float, Field(gt=0, le=1)]


@dataclass(frozen=True, kw_only=True)
class Race(Adaptive):
    """Gives replicates to the configurations that may still turn out to be the best.

    A new configuration gets one run, and `min` runs if the first comes close to the best. The share `explore` of the
    budget goes to new configurations, the rest to replicates by top-two Thompson sampling: draw true means from the
    posterior and run the best configuration of the draw or, every other time, another configuration that is the best
    of a later draw. No configuration gets more than `max` replicates. The policy stops once P(best) of the leader
    reaches `p_best`, or its expected regret falls to `regret` (in units of the score); both limits are off by default.
    `surrogate` shrinks estimates towards a Gaussian process over the space instead of their common mean.
    """

    min: Count = 2
    max: Count = 8
    explore: Share = 0.8
    surrogate: bool = True
    p_best: Share | None = None
    regret: Annotated[float, Field(ge=0)] | None = None

    CLOSE: ClassVar[float] = 0.3  # posterior sds below the best within which a configuration gets its second run
    HOPELESS: ClassVar[float] = 2.0  # posterior sds beyond which it gets no replicate when it is proposed again
    ENOUGH: ClassVar[int] = 10  # configurations that must have been tried before the policy stops early
    DRAWS: ClassVar[int] = 50  # draws of Thompson sampling to find a second configuration

    def choose(self, state: State, *, more: bool) -> Action:
        estimate = self.estimator.estimate(state)
        if estimate is None:
            return New("nothing has finished yet") if more else self.fill(state, self.max)
        if action := self._early_end(estimate) or self._second_run(state, estimate):
            return action
        if more and self._budget_used(state) < self.explore:
            return New(f"{self.explore:.0%} of the budget are for new configurations")
        if contender := self._contender(state, estimate):
            return contender
        return New("every contender has all its replicates") if more else self.fill(state, self.max)

    def _early_end(self, estimate: Estimate) -> Stop | None:
        best = estimate.best
        if len(estimate.ids) < self.ENOUGH or estimate.count[best] < self.min:
            return None
        if self.p_best is not None and estimate.p_best[best] >= self.p_best:
            return Stop(f"P(best) of {estimate.ids[best]} is {estimate.p_best[best]:.2f}")
        if self.regret is not None and estimate.regret <= self.regret:
            return Stop(f"the expected regret of {estimate.ids[best]} is {estimate.regret:.2g}")
        return None

    def _second_run(self, state: State, estimate: Estimate) -> Replicate | None:
        """The next of the `min` replicates of a configuration close to the best; None if each has them."""
        for index in np.flatnonzero(self._within(self.CLOSE, estimate)):
            config_id = estimate.ids[index]
            if (replicate := free_replicate(state.configurations[config_id])) < self.min:
                return Replicate(config_id, replicate, f"seed {replicate + 1} of at least {self.min}")
        return None

    def _within(self, sds: float, estimate: Estimate) -> np.ndarray:
        """A mask of the configurations that are at most `sds` posterior sds (of the difference) below the best."""
        best = estimate.best
        return estimate.mean >= estimate.mean[best] - sds * np.hypot(estimate.sd, estimate.sd[best])

    def _budget_used(self, state: State) -> float:
        """The share of the budget that has been used, from 0 to 1."""
        runs = 0.0 if self.runs is None else state.tally.started[SEARCH] / max(1, self.runs - self.reserve)
        return max(runs, 0.0 if self.hours is None else state.worked / (self.hours * HOUR))

    def _contender(self, state: State, estimate: Estimate) -> Replicate | None:
        """The replicate that top-two Thompson sampling chooses; None if no contender may have another replicate."""
        contenders = [state.configurations[estimate.ids[index]] for index in estimate.contenders]
        free = np.array([self._may_repeat(contender) for contender in contenders])
        if not free.any():
            return None
        started = state.tally.started[SEARCH]
        runs = np.array([len(contender.of_phase(SEARCH)) for contender in contenders])
        pending = runs - estimate.count[estimate.contenders]
        draws = estimate.draws(np.random.default_rng([self.seed, started]), self.DRAWS, pending)
        order = draws.argmax(1)
        leader = order[0]
        others = order[order != leader]
        if started % 2 and len(others):
            leader = others[0]
        if not free[leader]:  # it has all its replicates: run the configuration that could beat it
            leader = int(np.where(free, draws[0], -np.inf).argmax())
        replicate = free_replicate(contenders[leader])
        return Replicate(contenders[leader].config_id, replicate, f"seed {replicate + 1}: it may be the best")

    def repeats(self, state: State, configuration: Configuration) -> bool:
        estimate = self.estimator.estimate(state)
        index = None if estimate is None else estimate.index_of.get(configuration.config_id)
        hopeful = index is not None and bool(self._within(self.HOPELESS, estimate)[index])
        return hopeful and self._may_repeat(configuration)

    def _may_repeat(self, configuration: Configuration) -> bool:
        return not (configuration.pruned or self.waits(configuration)) and free_replicate(configuration) < self.max

    def configurations(self) -> int | None:
        return None if self.runs is None else max(1, int(self.explore * (self.runs - self.reserve) / self.min))
