"""Finds configurations that do the same work, by the fingerprints of their runs."""

from collections.abc import Sequence

from seedwise.search.ledger.state import State


def duplicates(state: State, ranked: Sequence[str]) -> dict[str, str]:
    """Map each configuration that does the same work as an earlier one in `ranked` to the id of the earlier one.

    Two configurations do the same work if their fingerprints agree at every replicate that both have run.
    """
    by_fingerprint: dict[str, list[str]] = {}  # of replicate 0
    result = {}
    for config_id in ranked:
        runs = state.configurations[config_id].runs
        if 0 not in runs or not runs[0].fingerprint:
            continue
        earlier = by_fingerprint.setdefault(runs[0].fingerprint, [])
        for other in earlier:
            theirs = state.configurations[other].runs
            shared = runs.keys() & theirs.keys()
            if all(runs[r].fingerprint and runs[r].fingerprint == theirs[r].fingerprint for r in shared):
                result[config_id] = other
                break
        earlier.append(config_id)
    return result
