"""What a free worker should do now. Pure: everything it needs comes from the ledger, and it can be printed.

A policy of one's own is a class with a `choose`, named in the specification by its import path (docs/extending.md).
"""

from dataclasses import dataclass, fields
from typing import Any, ClassVar, get_type_hints

import numpy as np

from search.errors import RequestError
from search.estimate import Estimate
from search.ledger import CONFIRM, INTERRUPTED, SEARCH, Configuration, State
from search.standing import Standing
from spaces.dimension import nearest
from spaces.space import import_path

FRESH = 1000  # the first replicate of the confirmation: no search gets so far


@dataclass(frozen=True)
class New:
    """Ask for a configuration that has not run yet."""

    because: str


@dataclass(frozen=True)
class Replicate:
    """Run a known configuration at a replicate that it has not finished."""

    config_id: str
    replicate: int
    because: str
    phase: ClassVar[str] = SEARCH


@dataclass(frozen=True)
class Confirm(Replicate):
    """Run a chosen configuration at a fresh replicate, and read the test sets."""

    phase: ClassVar[str] = CONFIRM


@dataclass(frozen=True)
class Stop:
    """Start nothing more; what runs may finish."""

    because: str


Action = New | Replicate | Stop


@dataclass(frozen=True, kw_only=True)
class Policy:
    """What all policies share: the budget, and runs that were interrupted go first.

    `runs` and `hours` end the search phase at whichever comes first; `reserve` runs are kept for the confirmation.
    """

    standing: Standing
    runs: int | None = None
    hours: float | None = None
    reserve: int = 0
    seed: int = 0
    prune: bool = False  # whether a configuration's first run may be cut short: its others then wait for it

    def choose(self, state: State, *, more: bool) -> Action:
        """What to do with a free worker and some budget left; `more` is False once the space has nothing new."""
        raise NotImplementedError

    def next_action(self, state: State, *, more: bool = True) -> Action:
        """What a free worker should do. Called again at once when another worker is free: what runs is pending."""
        for run in state.runs_of(SEARCH):
            if run.status == INTERRUPTED:
                return Replicate(run.config_id, run.replicate, "it was running when the search stopped")
        return self.spent(state) or self.choose(state, more=more)

    def spent(self, state: State) -> Stop | None:
        """The budget's end, if it has come."""
        if self.runs is not None and self.used(state) >= self.runs - self.reserve:
            return Stop(f"the budget of {self.runs} runs is spent")
        return self.late(state)

    def late(self, state: State) -> Stop | None:
        over = self.hours is not None and state.worked >= self.hours * 3600
        return Stop(f"the budget of {self.hours:g} hours is spent") if over else None

    def used(self, state: State) -> int:
        """Runs of the search phase that were started, those that are on their way included."""
        return sum(1 for _ in state.runs_of(SEARCH))

    def takes(self, state: State, configuration: Configuration) -> bool:
        """Whether a configuration that was proposed again is worth one more replicate."""
        return False

    def waits(self, configuration: Configuration) -> bool:
        """Whether further replicates should wait until the first run has ended, since it may be pruned."""
        return self.prune and 0 in configuration.runs and not configuration.runs[0].finished

    def least(self, state: State, most: int) -> Action:
        """Where nothing else is to be done: whoever has fewest replicates, below `most`, before a worker idles."""
        some = [one for one in state.configurations.values() if not one.pruned and free_replicate(one) < most]
        if not some:
            return Stop(EXHAUSTED)
        one = min(some, key=lambda one: (self.waits(one), len(one.runs)))
        return Replicate(one.config_id, free_replicate(one), "there is nothing new in the space")

    def total_runs(self) -> int | None:
        """How many runs there will be at most, confirmation included; None where only hours bound them."""
        return self.runs

    def configurations(self) -> int | None:
        """About how many configurations the budget pays for; None where only hours bound it."""
        return None if self.runs is None else self.runs - self.reserve

    def in_words(self) -> str:
        """What the budget buys, for a dry run."""
        bounds = [f"{self.runs} runs"] if self.runs is not None else []
        bounds += [f"{self.hours:g} hours"] if self.hours is not None else []
        several = "" if self.configurations() is None else f", about {self.configurations()} configurations"
        kept = f", {self.reserve} runs for the confirmation" if self.reserve else ""
        return f"at most {' and '.join(bounds)}{several}{kept}"


@dataclass(frozen=True, kw_only=True)
class Fixed(Policy):
    """Every configuration at the same `n` replicates, 0 to n - 1, so that any two can be compared seed by seed.

    A configuration gets all its replicates before the next one is asked for: the sampler then learns from means. A
    budget of runs pays for `runs // n` configurations. Past the hours, what was begun is still completed, since a
    configuration with fewer seeds than the others could not be ranked fairly.
    """

    n: int = 5

    def __post_init__(self) -> None:
        require(1 <= self.n < FRESH, f"n: {self.n} must be at least 1, and below {FRESH}")

    def spent(self, state: State) -> None:
        return None  # `choose` looks at the budget before each configuration, not before each run

    def choose(self, state: State, *, more: bool) -> Action:
        waiting, planned = None, 0
        for configuration in state.configurations.values():
            planned += len(configuration.runs) if configuration.pruned else self.n
            if not configuration.pruned and (replicate := free_replicate(configuration)) < self.n:
                action = Replicate(configuration.config_id, replicate, f"seed {replicate + 1} of {self.n}")
                if not self.waits(configuration):
                    return action
                waiting = waiting or action  # better than an idle worker, if nothing else is left
        if self.runs is not None and planned + self.n > self.runs - self.reserve:
            return waiting or Stop(f"the budget of {self.runs} runs is spent")
        if late := self.late(state):
            return waiting or late
        return New("the budget pays for another configuration") if more else waiting or Stop(EXHAUSTED)

    def total_runs(self) -> int | None:
        return None if self.runs is None else self.configurations() * self.n + self.reserve

    def configurations(self) -> int | None:
        return None if self.runs is None else (self.runs - self.reserve) // self.n


@dataclass(frozen=True, kw_only=True)
class Race(Policy):
    """Replicates go where they decide something.

    A new configuration gets one run, and `min` of them if that comes close to the best. The share `explore` of the
    budget goes to new configurations; the rest to replicates of those that may be the best, by top-two Thompson sampling: draw
    what the true means might be, run the best of the draw, or, every other time, the best of another draw that is not
    the same. Nobody gets more than `max` replicates. Ends early once P(best) of the leader reaches `p_best`, or its
    expected regret falls to `regret` (in units of the score); both are off by default. `surrogate` shrinks estimates
    towards a Gaussian process over the space instead of their common mean.
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

    def __post_init__(self) -> None:
        require(self.min >= 1, f"min: {self.min} must be at least 1")
        require(self.min <= self.max < FRESH, f"max: {self.max} must be between min: {self.min} and {FRESH - 1}")
        require(0 < self.explore <= 1, f"explore: {self.explore} is a share of the budget, above 0 and at most 1")
        require(self.p_best is None or 0 < self.p_best <= 1, f"p_best: {self.p_best} is a probability")
        require(self.regret is None or self.regret >= 0, f"regret: {self.regret} must not be negative")

    def choose(self, state: State, *, more: bool) -> Action:
        found = self.standing.of(state)
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
        close = self._within(self.CLOSE, found)
        for index, config_id in enumerate(found.ids):
            configuration = state.configurations[config_id]
            if close[index] and (replicate := free_replicate(configuration)) < self.min:
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
        pending = np.array([len(state.configurations[key].of_phase(SEARCH)) for key in found.ids]) - found.count
        started = self.used(state)
        draws = found.draws(np.random.default_rng([self.seed, started]), 50, pending)
        free = np.array([self._open(state.configurations[found.ids[index]]) for index in found.contenders])
        if not free.any():
            return None
        order = draws.argmax(1)
        leader = order[0]
        others = order[order != leader]
        if started % 2 and len(others):
            leader = others[0]
        if not free[leader]:  # it has all its replicates: the question is who could beat it
            leader = int(np.where(free, draws[0], -np.inf).argmax())
        config_id = found.ids[found.contenders[leader]]
        replicate = free_replicate(state.configurations[config_id])
        return Replicate(config_id, replicate, f"seed {replicate + 1}: it may be the best")

    def takes(self, state: State, configuration: Configuration) -> bool:
        found = self.standing.of(state)
        index = None if found is None else found.place.get(configuration.config_id)
        return index is not None and bool(self._within(self.HOPELESS, found)[index]) and self._open(configuration)

    def _open(self, configuration: Configuration) -> bool:
        return not (configuration.pruned or self.waits(configuration)) and free_replicate(configuration) < self.max

    def configurations(self) -> int | None:
        return None if self.runs is None else max(1, int(self.explore * (self.runs - self.reserve) / self.min))


@dataclass(frozen=True, kw_only=True)
class Halving(Policy):
    """Successive halving over replicates: the best 1 / `eta` of those with r replicates get eta * r, up to `max`.

    Asynchronous: who is among the best so far is promoted at once, and when all have been asked for and nobody can be
    promoted, the next best goes on, so that no worker idles.
    """

    min: int = 1
    max: int = 9
    eta: int = 3

    def __post_init__(self) -> None:
        require(self.min >= 1, f"min: {self.min} must be at least 1")
        require(self.min <= self.max < FRESH, f"max: {self.max} must be between min: {self.min} and {FRESH - 1}")
        require(self.eta >= 2, f"eta: {self.eta} must be at least 2")

    def choose(self, state: State, *, more: bool) -> Action:
        found = self.standing.of(state)
        if found is None:
            return New("nothing has finished yet") if more else self.least(state, self.max)
        for goal in reversed(self.rungs()[1:]):
            if promoted := self._promoted(state, found, goal, all_of_them=False):
                return promoted
        for configuration in state.configurations.values():
            ready = not configuration.pruned and not self.waits(configuration)
            if ready and (replicate := free_replicate(configuration)) < self.min:
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


@dataclass(frozen=True)
class Confirmation:
    """The last phase: the frozen configurations, each at `fresh` replicates that no decision has seen."""

    fresh: int

    def next_action(self, state: State, *, more: bool = False) -> Action:
        for config_id in state.frozen:
            runs = state.configurations[config_id].runs
            for replicate in range(FRESH, FRESH + self.fresh):
                if replicate not in runs or runs[replicate].status == INTERRUPTED:
                    return Confirm(config_id, replicate, f"fresh seed {replicate - FRESH + 1} of {self.fresh}")
        return Stop("confirmed")


EXHAUSTED = "the space has no further configuration"
POLICIES = {"fixed": Fixed, "race": Race, "halving": Halving}
SHARED = {one.name for one in fields(Policy)}


def free_replicate(configuration: Configuration) -> int:
    """The lowest replicate that a configuration has not been started at."""
    replicate = 0
    while replicate in configuration.runs:
        replicate += 1
    return replicate


def require(holds: bool, problem: str) -> None:
    """For the options of a policy: what is wrong is said with the key of the specification."""
    if not holds:
        raise RequestError(f"replicates.{problem}.")


def policy_class(name: str) -> type[Policy]:
    """By name, or `package.module:Class` for one's own."""
    if name in POLICIES:
        return POLICIES[name]
    if ":" not in name:
        raise RequestError(f"replicates.policy: there is no {name!r}.{nearest(name, POLICIES)}")
    found = import_path(name, "replicates.policy")
    if not (isinstance(found, type) and issubclass(found, Policy)):
        raise RequestError(f"replicates.policy: {name} is not a search.policy.Policy. Derive it from that class.")
    return found


def options_of(name: str) -> dict[str, tuple[Any, Any]]:
    """What a policy can be told in a specification: the type and the default of each option."""
    policy = policy_class(name)
    hints = get_type_hints(policy)
    return {one.name: (hints[one.name], one.default) for one in fields(policy) if one.name not in SHARED}


def policy_of(specification: dict, standing: Standing) -> Policy:
    """The policy that a resolved specification names, with its budget."""
    replicates = specification["replicates"]
    confirm = replicates["confirm"]
    options = {name: replicates[name] for name in options_of(replicates["policy"])}
    return policy_class(replicates["policy"])(
        standing=standing,
        **specification["budget"],
        reserve=confirm["top"] * confirm["fresh"],
        seed=specification["seed"],
        prune=specification["prune"] != "off",
        **options,
    )
