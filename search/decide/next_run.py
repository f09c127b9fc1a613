"""Decides on the next run from the ledger: asks the policy and, if that wants a new configuration, the proposer."""

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import numpy as np

from seedwise.search.decide.baselines import Baselines, ask_event
from seedwise.search.decide.policy import Action, FromPlan, New, Replicate, Stop, Wait, first_interrupted
from seedwise.search.decide.proposal import Known, Proposer
from seedwise.search.decide.pruning import prunes
from seedwise.search.ledger.counts import free_replicate
from seedwise.search.ledger.state import WAITING, Run, State
from seedwise.search.ranking.baseline_scores import best_of_each
from seedwise.search.ranking.duplicates import duplicates
from seedwise.search.ranking.estimator import Estimator
from seedwise.search.ranking.selection import Selection


class Decider(Protocol):
    """A policy, the confirmation, the retries on whole devices, or a plan."""

    def next_action(self, state: State, *, more: bool = True) -> Action: ...


@dataclass(frozen=True)
class Next:
    """The events to write into the ledger before the next run starts, and that run, or why none starts."""

    events: list[dict]
    run: Replicate | Wait | Stop


def next_run(state: State, policy: Decider, proposer: Proposer | None, baselines: Baselines | None = None) -> Next:
    """Decide on the next run: the same ledger gives the same decision. Baselines run once the policy has stopped."""
    events, ask = [], {}
    if baselines is not None and state.policy_stopped:
        action = first_interrupted(state) or Stop(state.policy_stopped)
    else:
        action = policy.next_action(state)
    if isinstance(action, New):
        proposal = proposer.propose(state, partial(policy.repeats, state))
        if proposal is None:
            action = policy.next_action(state, more=False)
        elif isinstance(proposal, Known):
            ask = {"ask": proposal.ask}
            replicate = free_replicate(state.configurations[proposal.config_id])
            action = Replicate(proposal.config_id, replicate, "it was proposed again")
        else:
            given = {key: value for key, value in vars(proposal).items() if key != "vary" or value is not None}
            events.append({"event": "ask", **given})
            action = Replicate(proposal.config_id, 0, action.because)
    if isinstance(action, FromPlan) and action.config_id not in state.configurations:
        events.append(ask_event(action.config_id, action.params, state.next_ask))
    # Runs that wait may still change what the policy decides, so it has not stopped for good.
    waiting = not state.policy_stopped and any(run.status == WAITING for run in state.tally.open_runs())
    if isinstance(action, Stop) and baselines is not None and not waiting:
        because = action.because
        events += [] if state.policy_stopped else [{"event": "baselines", "because": because}]
        asks, action = baselines.next_events(state)
        events += asks
        action = Stop(because) if isinstance(action, Stop) else action
    if isinstance(action, Replicate):
        start = {"config_id": action.config_id, "replicate": action.replicate, "phase": action.phase}
        events.append({"event": "start", **start, "because": action.because, **ask})
    return Next(events, action)


class Dependencies:
    """Which runs need the products of which other runs. Only a plan has any: here are none."""

    def needs(self, run: Run) -> list[str]:
        """The names of the products that a run takes as inputs."""
        return []

    def needed(self, state: State) -> Collection[str]:
        """The names of the products that runs without a result take."""
        return ()

    def beginning(self, state: State) -> int | None:
        """How many runs could be running now; None if that is unknown."""
        return None


@dataclass
class Decisions:
    """Decides on the runs of a phase: which run is next, which run ends early, how many runs there are."""

    phase: str
    policy: Decider
    selection: Selection
    proposer: Proposer | None = None  # None if the policy never asks for new configurations
    baselines: Baselines | None = None
    prune: str = "off"
    plan: Dependencies = field(default_factory=Dependencies)
    total: int | None = None  # runs in all; None if unknown
    reserved: int = 0  # of `total`: runs of the confirmation, which begins when this phase is over
    whole_device: bool = True  # whether a run that is out of memory in its share could get a whole device later

    def next(self, state: State) -> Next:
        return next_run(state, self.policy, self.proposer, self.baselines)

    def prunes(self, state: State, run: Run) -> str:
        """Why this run should end now. Empty if it may continue, as baselines always may."""
        baseline = state.configurations[run.config_id].baseline
        return "" if baseline else prunes(self.prune, state, self.selection, run)

    def left(self, state: State) -> int | None:
        """How many runs have not ended yet; None if only hours limit them."""
        return None if self.total is None else max(0, self.total - state.results)

    def beginning(self, state: State) -> int | None:
        """How many runs of this phase are left or can begin now, whichever is less; None if unknown."""
        left, can_begin = self.left(state), self.plan.beginning(state)
        known = [count for count in (left and left - self.reserved, can_begin) if count is not None]
        return min(known, default=None)


def freeze(state: State, estimator: Estimator, because: str, top: int) -> dict:
    """The event that ends the search phase: the configurations to confirm, best first, chosen before fresh seeds run.

    It holds the estimates of all configurations, so that the choice can be checked later.
    """
    estimate = estimator.estimate(state)
    if estimate is None:
        return {"event": "freeze", "because": because, "configs": [], "estimates": {}}
    best = {"baselines": best_of_each(state, estimator.selection)} if top and state.policy_stopped else {}
    estimates = {
        estimate.ids[index]: {
            "estimate": float(np.clip(estimate.mean[index], *estimator.selection.bounds)),
            "estimate_sd": float(estimate.sd[index]),
            "p_best": float(estimate.p_best[index]),
        }
        for index in estimate.ranking
    }
    working = [estimate.ids[index] for index in estimate.ranking if estimate.failed[index] < estimate.count[index]]
    repeated = duplicates(state, working)
    chosen = [config_id for config_id in working if config_id not in repeated]
    return {"event": "freeze", "because": because, "configs": chosen[:top], "estimates": estimates, **best}
