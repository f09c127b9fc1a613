"""The policy that spends replicates where they decide something."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from seedwise.search.decide.policy import FRESH, Action, New, Policy, Replicate, Stop, free_replicate, require
from seedwise.search.ledger.state import SEARCH, Configuration, State
from seedwise.search.ranking.estimate import Estimate


@dataclass(frozen=True, kw_only=True)
class Race(Policy):
    """Replicates go where they decide something.

    A new configuration gets one run, and `min` of them if that comes close to the best. The share `explore` of the
    budget goes to new configurations; the rest to replicates of those that may be the best, by top-two Thompson
    sampling: draw what the true means might be, run the best of the draw, or, every other time, the best of another
    draw that is not the same. Nobody gets more than `max` replicates. Ends early once P(best) of the leader reaches
    `p_best`, or its expected regret falls to `regret` (in units of the score); both are off by default. `surrogate`
    shrinks estimates towards a Gaussian process over the space instead of their common mean.
    """

    min: int = 2
    max: int = 8
    explore: float = 0.8
    surrogate: bool = True
    p_best: float | None = None
    regret: float | None = None

    CLOSE: ClassVar[float] = 0.3  # posterior sds below the best within which a configuration gets its second run
    HOPELESS: ClassVar[float] = 2.0  # and beyond which it gets no other one when it is proposed again
    ENOUGH: ClassVar[int] = 10  # configurations before an early end: the best of two is no search

    def least_replicates(self) -> int:
        return self.min

    def __post_init__(self) -> None:
        require(self.min >= 1, "min", f"{self.min} must be at least 1")
        require(self.min <= self.max < FRESH, "max", f"{self.max} must be between min: {self.min} and {FRESH - 1}")
        require(0 < self.explore <= 1, "explore", f"{self.explore} is a share of the budget, above 0 and at most 1")
        require(self.p_best is None or 0 < self.p_best <= 1, "p_best", f"{self.p_best} is a probability")
        require(self.regret is None or self.regret >= 0, "regret", f"{self.regret} must not be negative")

    def choose(self, state: State, *, more: bool) -> Action:
        found = self.estimator.estimate(state)
        if found is None:
            return New("nothing has finished yet") if more else self.least(state, self.max)
        if end := self._sure(found):
            return end
        if filling := self._fill(state, found):
            return filling
        if more and self._share(state) < self.explore:
            return New(f"{self.explore:.0%} of the budget are for new configurations")
        contender = self._contender(state, found)
        if contender is not None:
            return contender
        return New("every contender has all its replicates") if more else self.least(state, self.max)

    def _sure(self, found: Estimate) -> Stop | None:
        best = found.best
        if len(found.ids) < self.ENOUGH or found.count[best] < self.min:
            return None
        if self.p_best is not None and found.p_best[best] >= self.p_best:
            return Stop(f"P(best) of {found.ids[best]} is {found.p_best[best]:.2f}")
        if self.regret is not None and found.regret <= self.regret:
            return Stop(f"the expected regret of {found.ids[best]} is {found.regret:.2g}")
        return None

    def _fill(self, state: State, found: Estimate) -> Replicate | None:
        for index in np.flatnonzero(self._within(self.CLOSE, found)):
            config_id = found.ids[index]
            if (replicate := free_replicate(state.configurations[config_id])) < self.min:
                return Replicate(config_id, replicate, f"seed {replicate + 1} of at least {self.min}")
        return None

    def _within(self, sds: float, found: Estimate) -> np.ndarray:
        """Which configurations are at most so many posterior sds of their difference below the best."""
        return found.mean >= found.mean[found.best] - sds * np.hypot(found.sd, found.sd[found.best])

    def _share(self, state: State) -> float:
        """How much of the budget is used, from 0 to 1."""
        shares = [0.0]
        if self.runs is not None:
            shares.append(self.used(state) / max(1, self.runs - self.reserve))
        if self.hours is not None:
            shares.append(state.worked / (self.hours * 3600))
        return max(shares)

    def _contender(self, state: State, found: Estimate) -> Replicate | None:
        """Top-two Thompson sampling among those that may have another replicate."""
        contenders = [state.configurations[found.ids[index]] for index in found.contenders]
        pending = np.array([len(one.of_phase(SEARCH)) for one in contenders]) - found.count[found.contenders]
        started = self.used(state)
        draws = found.draws(np.random.default_rng([self.seed, started]), 50, pending)
        free = np.array([self._open(one) for one in contenders])
        if not free.any():
            return None
        order = draws.argmax(1)
        leader = order[0]
        others = order[order != leader]
        if started % 2 and len(others):
            leader = others[0]
        if not free[leader]:  # it has all its replicates: the question is who could beat it
            leader = int(np.where(free, draws[0], -np.inf).argmax())
        replicate = free_replicate(contenders[leader])
        return Replicate(contenders[leader].config_id, replicate, f"seed {replicate + 1}: it may be the best")

    def takes(self, state: State, configuration: Configuration) -> bool:
        found = self.estimator.estimate(state)
        index = None if found is None else found.index_of.get(configuration.config_id)
        return index is not None and bool(self._within(self.HOPELESS, found)[index]) and self._open(configuration)

    def _open(self, configuration: Configuration) -> bool:
        return not (configuration.pruned or self.waits(configuration)) and free_replicate(configuration) < self.max

    def configurations(self) -> int | None:
        return None if self.runs is None else max(1, int(self.explore * (self.runs - self.reserve) / self.min))
