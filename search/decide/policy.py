"""Policies, which decide what a free worker does next. They are pure: all that they need comes from the ledger.

A policy of your own is a class with a method `choose`, whose import path the specification has (docs/extending.md).
"""

from dataclasses import dataclass, field, fields
from typing import Annotated, Any, get_type_hints

from pydantic import Field

from seedwise.errors import RequestError, nearest
from seedwise.imports import import_path
from seedwise.search.ledger.counts import free_replicate
from seedwise.search.ledger.state import CONFIRM, INTERRUPTED, PLANNED, SEARCH, WAITING, Configuration, State
from seedwise.search.ranking.estimator import Estimator
from seedwise.text import HOUR

FRESH = 1000  # the first replicate of the confirmation: no search has so many replicates
EXHAUSTED = "the space has no further configuration"
Count = Annotated[int, Field(ge=1, lt=FRESH)]  # of replicates


def replicate_name(replicate: int) -> str:
    """The name of a replicate for people: fresh seeds are counted from 1, other replicates keep their number."""
    return f"fresh seed {replicate - FRESH + 1}" if replicate >= FRESH else f"replicate {replicate}"


def run_name(configuration: str, replicate: int) -> str:
    """The name of a run for people. `configuration` is an id, or a configuration in words."""
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
    phase: str = field(default=SEARCH, kw_only=True)


@dataclass(frozen=True)
class FromPlan(Replicate):
    """Run a configuration of a plan; `params` are the parameters of the configuration."""

    params: dict
    phase: str = field(default=PLANNED, kw_only=True)


@dataclass(frozen=True)
class Wait:
    """Start nothing now: the next run needs the result of a running run."""


@dataclass(frozen=True)
class Stop:
    """Start nothing more; runs that have started may finish."""

    because: str


Action = New | Replicate | Wait | Stop


@dataclass(frozen=True, kw_only=True)
class Policy:
    """The base class of all policies: it keeps to the budget, and continues interrupted runs first.

    The search phase ends after `runs` or `hours`, whichever comes first; `reserve` runs are kept for the confirmation.
    """

    estimator: Estimator
    runs: int | None = None
    hours: float | None = None
    reserve: int = 0
    seed: int = 0
    prune: bool = False  # whether a configuration's first run may be cut short: its other runs then wait for the first

    @property
    def standing(self) -> Estimator:
        """The estimator under its name of version 0.8, which users' policies may use."""
        return self.estimator

    def choose(self, state: State, *, more: bool) -> Action:
        """What to do with a free worker and some budget left; `more` is False once the space has nothing new."""
        raise NotImplementedError

    def next_action(self, state: State, *, more: bool = True) -> Action:
        """What a free worker should do. `state` includes the runs that other workers have just started."""
        if action := first_interrupted(state) or self.spent(state):
            return action
        if unstarted := state.tally.unstarted():
            return Replicate(unstarted[0].config_id, 0, "it was proposed before the search stopped")
        return self.choose(state, more=more)

    def spent(self, state: State) -> Stop | None:
        """Stop if the budget is spent, otherwise None."""
        if self.runs is not None and state.tally.started[SEARCH] >= self.runs - self.reserve:
            return Stop(f"the budget of {self.runs} runs is spent")
        return self.late(state)

    def late(self, state: State) -> Stop | None:
        over = self.hours is not None and state.worked >= self.hours * HOUR
        return Stop(f"the budget of {self.hours:g} hours is spent") if over else None

    def repeats(self, state: State, configuration: Configuration) -> bool:
        """Whether a configuration that was proposed again is worth one more replicate."""
        return False

    def waits(self, configuration: Configuration) -> bool:
        """Whether further replicates should wait until the first run has ended, since it may be pruned."""
        return self.prune and 0 in configuration.runs and not configuration.runs[0].finished

    def fill(self, state: State, most: int) -> Action:
        """One more replicate, up to `most`, for the configuration with the fewest: better than an idle worker."""
        short = state.tally.short_of(most)
        if not short:
            return Stop(EXHAUSTED)
        config = min(short, key=lambda config: (self.waits(config), len(config.runs)))
        return Replicate(config.config_id, free_replicate(config), "there is nothing new in the space")

    def least_replicates(self) -> int:
        """The smallest number of replicates that any configuration gets."""
        return 1

    def total_runs(self) -> int | None:
        """How many runs there will be at most, confirmation included; None if only hours limit them."""
        return self.runs

    def configurations(self) -> int | None:
        """How many configurations the budget pays for at least; None if only hours limit it."""
        return None if self.runs is None else self.runs - self.reserve

    def in_words(self) -> str:
        """The budget in words, for a dry run."""
        bounds = [f"{self.runs} runs"] if self.runs is not None else []
        bounds += [f"{self.hours:g} hours"] if self.hours is not None else []
        several = "" if self.configurations() is None else f", {self.configurations()} configurations or more"
        kept = f", {self.reserve} runs for the confirmation" if self.reserve else ""
        return f"at most {' and '.join(bounds)}{several}{kept}"


@dataclass(frozen=True, kw_only=True)
class Fixed(Policy):
    """Every configuration at the same `n` replicates, 0 to n - 1, so that any two can be compared seed by seed.

    A configuration gets all its replicates before a new configuration is proposed, so that the sampler learns from
    means. A budget of runs pays for `runs // n` configurations. After `hours`, a configuration that was begun still
    gets its replicates, since with fewer seeds than the other configurations it could not be ranked fairly.
    """

    n: Count = 5

    def least_replicates(self) -> int:
        return self.n

    def spent(self, state: State) -> None:
        return None  # `choose` looks at the budget before each configuration, not before each run

    def choose(self, state: State, *, more: bool) -> Action:
        waiting = None
        for configuration in state.tally.short_of(self.n):
            replicate = free_replicate(configuration)
            action = Replicate(configuration.config_id, replicate, f"seed {replicate + 1} of {self.n}")
            if not self.waits(configuration):
                return action
            waiting = waiting or action  # if nothing else is left, better than an idle worker
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


@dataclass(frozen=True, kw_only=True)
class Adaptive(Policy):
    """A policy that gives every configuration between `min` and `max` replicates."""

    min: Count = 1
    max: Count = 9

    def __post_init__(self) -> None:
        if self.min > self.max:
            raise RequestError("replicates.max", f"{self.max} is below min: {self.min}")

    def least_replicates(self) -> int:
        return self.min


@dataclass(frozen=True)
class Confirmation:
    """The last phase: the frozen configurations, each at `fresh` replicates that no decision has seen."""

    fresh: int

    def next_action(self, state: State, *, more: bool = False) -> Action:
        for config_id in (*state.frozen, *state.frozen_baselines):
            runs = state.configurations[config_id].runs
            for replicate in range(FRESH, FRESH + self.fresh):
                if replicate not in runs or runs[replicate].status == INTERRUPTED:
                    because = f"{replicate_name(replicate)} of {self.fresh}"
                    return Replicate(config_id, replicate, because, phase=CONFIRM)
        return Stop("confirmed")


@dataclass(frozen=True)
class WholeDeviceRetries:
    """Repeats the runs of a phase that were out of memory in their share of a device, each on a whole device."""

    phase: str

    def next_action(self, state: State, *, more: bool = False) -> Action:
        run = next((run for run in state.runs_of(self.phase) if run.status == WAITING), None)
        if run is None:
            return Stop("nothing waits for a whole device")
        because = "it was out of memory in its share of a device"
        return Replicate(run.config_id, run.replicate, because, phase=self.phase)


POLICIES = {
    "fixed": "seedwise.search.decide.policy:Fixed",
    "race": "seedwise.search.decide.race:Race",
    "halving": "seedwise.search.decide.halving:Halving",
}
SHARED = {field.name for field in fields(Policy)}


def first_interrupted(state: State) -> Replicate | None:
    """Continue the first interrupted run of the search phase; None if there is none."""
    for run in state.tally.open_runs():
        if run.phase == SEARCH and run.status == INTERRUPTED:
            return Replicate(run.config_id, run.replicate, "it was running when the search stopped")
    return None


def policy_class(name: str) -> type[Policy]:
    """The class of a policy, by its name, or by `package.module:Class` for a user's policy."""
    path = POLICIES.get(name, name)
    if ":" not in path:
        raise RequestError("replicates.policy", f"there is no policy {name!r}", nearest(name, POLICIES))
    policy = import_path(path, "replicates.policy")
    if not (isinstance(policy, type) and issubclass(policy, Policy)):
        problem = f"{name} is not a seedwise.search.decide.policy.Policy"
        raise RequestError("replicates.policy", problem, "Derive it from that class.")
    return policy


def options_of(name: str) -> dict[str, tuple[Any, Any]]:
    """The options that a specification can give to a policy: by name, the type (with bounds) and the default."""
    policy = policy_class(name)
    hints = get_type_hints(policy, include_extras=True)
    return {field.name: (hints[field.name], field.default) for field in fields(policy) if field.name not in SHARED}


def policy_of(request: Any, estimator: Estimator) -> Policy:
    """The policy that a specification names, with its budget."""
    replicates, confirm = request.replicates.resolved(), request.replicates.confirm
    return policy_class(request.replicates.policy)(
        estimator=estimator,
        runs=request.budget.runs,
        hours=request.budget.hours,
        reserve=confirm.top * confirm.fresh,
        seed=request.seed,
        prune=request.prune != "off",
        **{name: replicates[name] for name in options_of(request.replicates.policy)},
    )
