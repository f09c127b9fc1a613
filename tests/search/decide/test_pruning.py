import pytest

from seedwise.search.decide.pruning import ETA, prunes, step_at
from seedwise.search.ledger.state import State
from seedwise.search.ranking.selection import Selection

SELECTION = Selection("value", "metric", "mean", "", ())


def search(*curves: tuple[int, list[float]], replicate: int = 0, phase: str = "search") -> State:
    """Running configurations c0, c1, ...: their total epochs, and their scores after each step so far."""
    state = State()
    state.apply({"event": "search"})
    for number, (epochs, scores) in enumerate(curves):
        run = {"config_id": f"c{number}", "replicate": replicate}
        state.apply({"event": "ask", "config_id": f"c{number}", "params": {}, "ask": number})
        state.apply({"event": "start", **run, "phase": phase})
        for step, score in enumerate(scores, start=1):
            state.apply({"event": "step", **run, "step": step, "epochs": epochs, "metrics": {"value": score}})
    return state


def verdict(rule: str, state: State, number: int, replicate: int = 0) -> str:
    return prunes(rule, state, SELECTION, state.configurations[f"c{number}"].runs[replicate])


def test_asha_keeps_the_best_third_at_a_rung():
    scores = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4]
    state = search(*((9, [score]) for score in scores))  # the first rung is after one of nine epochs
    kept = [number for number in range(6) if not verdict("asha", state, number)]
    assert kept == [0, 1]
    assert verdict("asha", state, 3) == f"not among the best 1/{ETA} of 6 runs after 11% of their schedules"


def test_baselines_are_not_compared_when_pruning():
    state = search((9, [0.5]), *[(9, [0.9])] * 5)
    assert verdict("asha", state, 0)
    for number in range(1, 6):
        state.configurations[f"c{number}"].params["baseline"] = "ls"
    assert not verdict("asha", state, 0)


def test_asha_waits_for_enough_runs_and_for_a_rung():
    assert not verdict("asha", search((9, [0.1]), (9, [0.9])), 0)
    between = search(*((9, [score, score]) for score in (0.9, 0.8, 0.7, 0.6)))
    assert not verdict("asha", between, 3)  # after two of nine epochs there is no rung


def test_runs_are_compared_at_equal_shares_of_their_schedules():
    """After one epoch of three a third is done; the others have twelve: their fourth epoch counts, not the first."""
    others = [(12, [0.9, 0.9, 0.9, 0.2])] * 5
    late = [(12, [0.1, 0.1, 0.1, 0.6])] * 5
    assert step_at(1 / 3, 12) == 4
    assert verdict("median", search((3, [0.5]), *late), 0)
    assert verdict("median", search((3, [0.7]), *others), 0)  # their best until then is 0.9
    assert not verdict("median", search((3, [0.7]), *late), 0)
    not_there = [(12, [0.9, 0.9, 0.9])] * 5
    assert not verdict("median", search((3, [0.5]), *not_there), 0)


def test_the_median_rule_needs_peers_and_patience():
    assert not verdict("median", search((4, [0.1]), *[(4, [0.9])] * 4), 0)
    assert verdict("median", search((4, [0.1]), *[(4, [0.9])] * 5), 0)
    assert not verdict("median", search((8, [0.1]), *[(8, [0.9])] * 5), 0)  # an eighth is too early
    half = [(4, [0.9])] * 3 + [(4, [0.2])] * 3
    assert not verdict("median", search((4, [0.3]), *half), 0)


@pytest.mark.parametrize("rule", ["asha", "median"])
def test_only_replicate_0_of_the_search_is_pruned_and_never_after_its_last_step(rule):
    poor = [(9, [0.1] * 3), *[(9, [0.9] * 3)] * 6]
    assert verdict(rule, search(*poor), 0)
    assert not verdict("off", search(*poor), 0)
    assert not verdict(rule, search(*poor, replicate=1), 0, replicate=1)
    assert not verdict(rule, search(*poor, phase="confirm"), 0)
    done = [(3, [0.1] * 3), *[(3, [0.9] * 3)] * 6]
    assert not verdict(rule, search(*done), 0)


def test_steps_survive_an_interruption():
    """A run that continues from its checkpoint keeps its earlier steps for comparisons."""
    state = search((4, [0.1]), *[(4, [0.9])] * 5)
    state.apply({"event": "search"})
    state.apply({"event": "start", "config_id": "c1", "replicate": 0, "phase": "search"})
    run = {"event": "step", "config_id": "c1", "replicate": 0, "epochs": 4}
    state.apply({**run, "step": 2, "metrics": {"value": 0.95}})
    assert state.configurations["c1"].runs[0].steps.keys() == {1, 2}
    assert verdict("median", state, 0)
