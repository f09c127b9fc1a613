"""From the ledger to the next run: the policy, then, where it asks for something new, the proposer."""

from dataclasses import dataclass
from functools import partial
from typing import Protocol

from search.ledger import State
from search.policy import Action, New, Replicate, Stop, free_replicate
from search.propose import Known, Proposer
from search.standing import Standing


class Decider(Protocol):
    """A policy, or the confirmation."""

    def next_action(self, state: State, *, more: bool = True) -> Action: ...


@dataclass(frozen=True)
class Next:
    """What to write into the ledger before the run is started, and the run itself; or why nothing is started."""

    events: list[dict]
    run: Replicate | Stop


def next_run(state: State, policy: Decider, proposer: Proposer) -> Next:
    """Pure and deterministic: the same ledger gives the same answer."""
    action, events, ask = policy.next_action(state), [], {}
    if isinstance(action, New):
        proposal = proposer.propose(state, partial(policy.takes, state))
        if proposal is None:
            action = policy.next_action(state, more=False)
        elif isinstance(proposal, Known):
            ask = {"ask": proposal.ask}
            again = free_replicate(state.configurations[proposal.config_id])
            action = Replicate(proposal.config_id, again, "it was proposed again")
        else:
            found = {key: value for key, value in vars(proposal).items() if key != "vary" or value is not None}
            events.append({"event": "ask", **found})
            action = Replicate(proposal.config_id, 0, action.because)
    if isinstance(action, Replicate):
        start = {"config_id": action.config_id, "replicate": action.replicate, "phase": action.phase}
        events.append({"event": "start", **start, "because": action.because, **ask})
    return Next(events, action)


def freeze(state: State, standing: Standing, because: str, top: int) -> dict:
    """The event that ends the search phase: the configurations to confirm, best first, chosen before any fresh seed.

    It holds how all of them stood, so that the choice can be checked later.
    """
    found = standing.of(state)
    if found is None:
        return {"event": "freeze", "because": because, "configs": [], "estimates": {}}
    estimates = {
        found.ids[index]: {
            "estimate": float(found.mean[index]),
            "estimate_sd": float(found.sd[index]),
            "p_best": float(found.p_best[index]),
        }
        for index in found.ranking
    }
    chosen = [found.ids[index] for index in found.ranking if found.failed[index] < found.count[index]]
    return {"event": "freeze", "because": because, "configs": chosen[:top], "estimates": estimates}
