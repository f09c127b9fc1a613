"""A search without Ray: the same policy, estimate and proposals, any number of workers, and a simulated clock.

A world gives the score of a configuration at a replicate, by a function or from a table of real runs. Thousands of runs
per second go through it; a sampler and a policy that learn take their own milliseconds per decision.
"""

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Protocol

from seedwise.search.decide.baselines import Baselines
from seedwise.search.decide.next_run import freeze, next_run
from seedwise.search.decide.policy import Confirmation, Policy, Stop, policy_of
from seedwise.search.decide.proposal import Proposer
from seedwise.search.ledger.state import CONFIRM, State
from seedwise.search.ranking.estimator import Estimator
from seedwise.search.ranking.run_scores import known, scores_of
from seedwise.search.ranking.selection import Selection
from seedwise.search.ranking.summary import Summary, summary
from seedwise.search.spec.schema import Budget, Replicates
from seedwise.spaces import Space

SELECTION = Selection("value", "metric", "mean", "", ())


class World(Protocol):
    """What is searched. A score that is nan is a run that failed; `truth` is the mean over all replicates there are."""

    space: Callable[[Any], dict]
    best: float

    def score(self, params: dict, replicate: int) -> float: ...

    def truth(self, params: dict) -> float: ...


@dataclass
class Outcome:
    """A finished search: every line of its ledger, and the configuration to export."""

    events: list[dict]
    state: State
    estimator: Estimator
    selected: str = field(init=False)

    def __post_init__(self) -> None:
        estimate = self.estimator.estimate(self.state)
        self.selected = estimate.ids[estimate.best]

    @property
    def params(self) -> dict:
        return self.state.configurations[self.selected].params

    @property
    def reported(self) -> float:
        """The score that the search phase reports for it."""
        estimate = self.estimator.estimate(self.state)
        return float(estimate.mean[estimate.best])

    @property
    def confirmed(self) -> Summary | None:
        """The mean score of its fresh replicates."""
        scores = scores_of(self.state, SELECTION, CONFIRM).get(self.selected)
        return summary(known(scores)) if scores and known(scores) else None


def engine(
    space: Callable[[Any], dict] | Space,
    *,
    replicates: dict,
    runs: int | None = None,
    hours: float | None = None,
    sampler: str = "tpe",
    seed: int = 0,
    enqueue: Sequence[dict] = (),
    prune: str = "off",
) -> tuple[Policy, Proposer]:
    """The policy and the proposer that a specification with these keys would get."""
    given, budget = Replicates.model_validate(replicates), Budget(runs=runs, hours=hours)
    request = SimpleNamespace(replicates=given, budget=budget, seed=seed, prune=prune)
    space = space if isinstance(space, Space) else Space(space)
    estimator = Estimator(SELECTION, space if given.resolved().get("surrogate") else None)
    policy = policy_of(request, estimator)
    return policy, Proposer(space, sampler, seed, estimator, tuple(enqueue), policy.configurations())


def drive(
    world: World,
    state: State,
    policy: Any,
    proposer: Proposer,
    *,
    workers: int,
    seconds: Callable[[dict, int], float],
    baselines: Baselines | None = None,
) -> Iterator[dict]:
    """The events of one phase, applied to the state as they come. `seconds` is how long a run takes."""
    now, clock, order = state.last_time, [], 0
    stopped = False
    while True:
        while not stopped and len(clock) < workers:
            decision = next_run(state, policy, proposer, baselines)
            for event in decision.events:
                state.apply(timed := {**event, "time": now})
                yield timed
            if isinstance(decision.run, Stop):
                stopped = True
                break
            run = decision.run
            params = state.configurations[run.config_id].params
            order += 1
            heapq.heappush(clock, (now + seconds(params, run.replicate), order, run))
        if not clock:
            return
        now, _, run = heapq.heappop(clock)
        params = state.configurations[run.config_id].params
        score = world.score(params, run.replicate)
        failed = not math.isfinite(score)
        event = {
            "event": "result",
            "config_id": run.config_id,
            "replicate": run.replicate,
            "phase": run.phase,
            "status": "failed:nan" if failed else "done",
            "metrics": {} if failed else {"value": float(score)},
            "seconds": seconds(params, run.replicate),
            "time": now,
        }
        state.apply(event)
        yield event


def simulate(
    world: World,
    *,
    replicates: dict,
    runs: int | None = None,
    hours: float | None = None,
    sampler: str = "tpe",
    workers: int = 4,
    seed: int = 0,
    enqueue: Sequence[dict] = (),
    seconds: Callable[[dict, int], float] = lambda params, replicate: 60.0,
) -> Outcome:
    """Run a search on a world to its end, confirmation included; keys are those of a specification."""
    policy, proposer = engine(
        world.space, replicates=replicates, runs=runs, hours=hours, sampler=sampler, seed=seed, enqueue=enqueue
    )
    state, first = State(), {"event": "search", "time": 0.0, "search_id": "simulated"}
    state.apply(first)
    events = [first, *drive(world, state, policy, proposer, workers=workers, seconds=seconds)]
    confirm = Replicates.model_validate(replicates).confirm
    if confirm.top * confirm.fresh:
        frozen = freeze(state, proposer.estimator, "the budget is spent", confirm.top) | {"time": state.last_time}
        state.apply(frozen)
        last = drive(world, state, Confirmation(confirm.fresh), proposer, workers=workers, seconds=seconds)
        events += [frozen, *last]
    return Outcome(events, state, proposer.estimator)
