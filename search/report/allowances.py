"""What each baseline was allowed, so that a reader can judge whether a comparison with it is fair."""

from seedwise.errors import RequestError
from seedwise.search.decide import baselines
from seedwise.search.ledger.state import State
from seedwise.search.spec.load import recorded


def allowances(state: State) -> list[str]:
    """A line for each baseline of the recorded specification and one for the method; none without baselines."""
    if not state.specification["baselines"]:
        return []
    parts = recorded(state).parts
    try:
        return baselines.allowances(parts.baselines, parts.policy, parts.space)
    except RequestError:  # the policy is a person's own, and its module is gone
        return []
