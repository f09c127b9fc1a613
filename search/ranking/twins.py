"""Configurations that do the same work, as the fingerprints of their runs tell."""

from collections.abc import Sequence

from seedwise.search.ledger.state import State


def twins(state: State, ranked: Sequence[str]) -> dict[str, str]:
    """Configurations that do the same work as one before them in `ranked`, and which one that is."""
    first: dict[str, list[str]] = {}
    found = {}
    for config_id in ranked:
        for mark in {run.fingerprint for run in state.configurations[config_id].runs.values() if run.replicate == 0}:
            others = first.setdefault(mark, []) if mark else []
            twin = next((other for other in others if same(state, config_id, other)), None)
            others.append(config_id)
            if twin is not None:
                found[config_id] = twin
    return found


def same(state: State, one: str, other: str) -> bool:
    """Whether two configurations do the same work, as far as replicates that both have run can tell."""
    runs, others = state.configurations[one].runs, state.configurations[other].runs
    shared = [replicate for replicate in runs if replicate in others]
    marks = [(runs[replicate].fingerprint, others[replicate].fingerprint) for replicate in shared]
    return bool(marks) and all(mark and mark == theirs for mark, theirs in marks)
