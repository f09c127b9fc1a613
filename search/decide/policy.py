"""What a free worker should do now. Pure: everything it needs comes from the ledger, and it can be printed.

A policy of one's own is a class with a `choose`, named in the specification by its import path (docs/extending.md).
"""

from dataclasses import dataclass, fields
from typing import Any, ClassVar, get_type_hints

from seedwise.errors import RequestError
from seedwise.imports import import_path
from seedwise.search.ledger.counts import free_replicate
from seedwise.search.ledger.state import CONFIRM, INTERRUPTED, PLANNED, SEARCH, Configuration, State
from seedwise.search.ranking.estimator import Estimator
from seedwise.suggest import nearest

FRESH = 1000  # the first replicate of the confirmation: no search gets so far


def replicate_name(replicate: int) -> str:
    """A replicate as people see it: fresh seeds are counted from 1, others are called by their number."""
    return f"fresh seed {replicate - FRESH + 1}" if replicate >= FRESH else f"replicate {replicate}"


def run_name(configuration: str, replicate: int) -> str:
    """A run as people see it. `configuration` is an id, or a configuration in words."""
    return f"{configuration}, {replicate_name(replicate)}"


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
class FromPlan(Replicate):
    """Run a configuration that nobody proposed: a plan has it, with its parameters."""

    params: dict
    phase: ClassVar[str] = PLANNED


@dataclass(frozen=True)
class Wait:
    """Start nothing now: what could come next needs what is running."""


@dataclass(frozen=True)
class Stop:
    """Start nothing more; what runs may finish."""

    because: str


Action = New | Replicate | Wait | Stop


@dataclass(frozen=True, kw_only=True)
class Policy:
    """What all policies share: the budget, and runs that were interrupted go first.

    `runs` and `hours` end the search phase at whichever comes first; `reserve` runs are kept for the confirmation.
    """

    estimator: Estimator
    runs: int | None = None
    hours: float | None = None
    reserve: int = 0
    seed: int = 0
    prune: bool = False  # whether a configuration's first run may be cut short: its others then wait for it

    @property
    def standing(self) -> Estimator:
        """The name of version 0.8, which policies of one's own may use."""
        return self.estimator

    def choose(self, state: State, *, more: bool) -> Action:
        """What to do with a free worker and some budget left; `more` is False once the space has nothing new."""
        raise NotImplementedError

    def next_action(self, state: State, *, more: bool = True) -> Action:
        """What a free worker should do. Called again at once when another worker is free: what runs is pending."""
        if lost := first_interrupted(state):
            return lost
        if stop := self.spent(state):
            return stop
        if unstarted := state.tally.unstarted():
            return Replicate(unstarted[0].config_id, 0, "it was asked for when the search stopped")
        return self.choose(state, more=more)

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
        return state.tally.started[SEARCH]

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

    def least_replicates(self) -> int:
        """How many replicates every configuration gets at least."""
        return 1

    def total_runs(self) -> int | None:
        """How many runs there will be at most, confirmation included; None where only hours bound them."""
        return self.runs

    def configurations(self) -> int | None:
        """How many configurations the budget pays for at least; None where only hours bound it."""
        return None if self.runs is None else self.runs - self.reserve

    def in_words(self) -> str:
        """What the budget buys, for a dry run."""
        bounds = [f"{self.runs} runs"] if self.runs is not None else []
        bounds += [f"{self.hours:g} hours"] if self.hours is not None else []
        several = "" if self.configurations() is None else f", {self.configurations()} configurations or more"
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

    def least_replicates(self) -> int:
        return self.n

    def __post_init__(self) -> None:
        require(1 <= self.n < FRESH, "n", f"{self.n} must be at least 1, and below {FRESH}")

    def spent(self, state: State) -> None:
        return None  # `choose` looks at the budget before each configuration, not before each run

    def choose(self, state: State, *, more: bool) -> Action:
        waiting = None
        for configuration in state.tally.short_of(self.n):
            replicate = free_replicate(configuration)
            action = Replicate(configuration.config_id, replicate, f"seed {replicate + 1} of {self.n}")
            if not self.waits(configuration):
                return action
            waiting = waiting or action  # better than an idle worker, if nothing else is left
        planned = self.n * (len(state.configurations) - state.tally.pruned) + state.tally.pruned_runs
        if self.runs is not None and planned + self.n > self.runs - self.reserve:
            return waiting or Stop(f"the budget of {self.runs} runs is spent")
        if late := self.late(state):
            return waiting or late
        return New("the budget pays for another configuration") if more else waiting or Stop(EXHAUSTED)

    def total_runs(self) -> int | None:
        return None if self.runs is None else self.configurations() * self.n + self.reserve

    def configurations(self) -> int | None:
        return None if self.runs is None else (self.runs - self.reserve) // self.n


@dataclass(frozen=True)
class Confirmation:
    """The last phase: the frozen configurations, each at `fresh` replicates that no decision has seen."""

    fresh: int

    def next_action(self, state: State, *, more: bool = False) -> Action:
        for config_id in (*state.frozen, *state.frozen_baselines):
            runs = state.configurations[config_id].runs
            for replicate in range(FRESH, FRESH + self.fresh):
                if replicate not in runs or runs[replicate].status == INTERRUPTED:
                    return Confirm(config_id, replicate, f"{replicate_name(replicate)} of {self.fresh}")
        return Stop("confirmed")


EXHAUSTED = "the space has no further configuration"
POLICIES = {
    "fixed": "seedwise.search.decide.policy:Fixed",
    "race": "seedwise.search.decide.race:Race",
    "halving": "seedwise.search.decide.halving:Halving",
}
SHARED = {one.name for one in fields(Policy)}


def first_interrupted(state: State) -> Replicate | None:
    """The first run of the search phase that was cut off without a result."""
    lost = (run for run in state.tally.open_runs() if run.phase == SEARCH and run.status == INTERRUPTED)
    found = next(lost, None)
    return found and Replicate(found.config_id, found.replicate, "it was running when the search stopped")


def require(holds: bool, option: str, problem: str) -> None:
    """For the options of a policy: what is wrong is said with the key of the specification."""
    if not holds:
        raise RequestError(f"replicates.{option}", problem)


def policy_class(name: str) -> type[Policy]:
    """By name, or `package.module:Class` for one's own."""
    path = POLICIES.get(name, name)
    if ":" not in path:
        raise RequestError("replicates.policy", f"there is no {name!r}", nearest(name, POLICIES))
    found = import_path(path, "replicates.policy")
    if not (isinstance(found, type) and issubclass(found, Policy)):
        problem = f"{name} is not a seedwise.search.decide.policy.Policy"
        raise RequestError("replicates.policy", problem, "Derive it from that class.")
    return found


def options_of(name: str) -> dict[str, tuple[Any, Any]]:
    """What a policy can be told in a specification: the type and the default of each option."""
    policy = policy_class(name)
    hints = get_type_hints(policy)
    return {one.name: (hints[one.name], one.default) for one in fields(policy) if one.name not in SHARED}


def policy_of(request: Any, estimator: Estimator) -> Policy:
    """The policy that a specification names, with its budget."""
    replicates = request.replicates.resolved()
    confirm = request.replicates.confirm
    options = {name: replicates[name] for name in options_of(request.replicates.policy)}
    return policy_class(request.replicates.policy)(
        estimator=estimator,
        runs=request.budget.runs,
        hours=request.budget.hours,
        reserve=confirm.top * confirm.fresh,
        seed=request.seed,
        prune=request.prune != "off",
        **options,
    )
