import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedwise.search.ledger.state import replay
from seedwise.search.ranking.run_scores import scores_of, table_of, worst_of
from seedwise.search.ranking.selection import Selection
from seedwise.search.ranking.summary import NO_BOUNDS
from tests.search.ranking.test_selection import selection

SCORES = st.floats(-1e3, 1e3, allow_subnormal=False)


def ledger_of(*results, phase="search", name="dev/macro_f1/s"):
    """A state in which each configuration has runs (status, source score) by replicate."""
    state = replay([{"event": "search"}])
    add_runs(state, *results, phase=phase, name=name)
    return state


def add_runs(state, *results, phase, name="dev/macro_f1/s"):
    first = 0 if phase == "search" else 1000
    for config_id, runs in results:
        if config_id not in state.configurations:
            params = {"baseline": config_id} if config_id.startswith("baseline") else {}
            state.apply({"event": "ask", "config_id": config_id, "params": params, "ask": 0})
        for replicate, (status, score) in enumerate(runs, start=first):
            common = {"config_id": config_id, "replicate": replicate, "phase": phase}
            metrics = {} if score is None else {name: score}
            state.apply({"event": "start", **common})
            state.apply({"event": "result", **common, "status": status, "metrics": metrics, "seconds": 1})


@pytest.mark.parametrize(
    ("lowest", "highest", "bounds", "worst"),
    [
        (0.7, 0.9, (0.0, 1.0), 0.0),  # the lowest possible score
        (0.3, 0.9, (-1.0, 1.0), -1.0),  # of a correlation
        (0.7, 0.9, NO_BOUNDS, 0.0),
        (62.0, 71.0, NO_BOUNDS, 0.0),
        (-0.2, 0.4, NO_BOUNDS, -0.8),  # as far below the lowest as the highest is above it
        (-3.0, -3.0, NO_BOUNDS, -6.0),
        (0.0, 0.0, NO_BOUNDS, 0.0),
    ],
)
def test_what_a_run_without_a_score_counts_as(lowest, highest, bounds, worst):
    assert worst_of(lowest, highest, bounds) == pytest.approx(worst)


@given(SCORES, SCORES)
def test_a_run_without_a_score_never_counts_above_the_lowest_nor_below_a_natural_bound(first, second):
    low, high = sorted((first, second))
    assert worst_of(low, high) <= low
    assert worst_of(low, high) >= 0 or low < 0


@pytest.mark.parametrize("status", ["failed:nan", "failed:oom", "failed:error"])
def test_a_failed_run_counts_as_the_worst_score(status):
    state = ledger_of(
        ("good", [("done", 0.9), ("done", 0.8)]), ("bad", [("done", 0.95), (status, 0.99)]), ("low", [("done", 0.7)])
    )
    assert scores_of(state, selection()) == {"good": {0: 0.9, 1: 0.8}, "bad": {0: 0.95, 1: 0.0}, "low": {0: 0.7}}


def test_fresh_seeds_do_not_change_what_the_search_said():
    """The lowest score of the confirmation once lowered the mean of the search in best.yaml."""
    by_loss = Selection("dev/loss/s", "metric", "mean", "", ())
    state = ledger_of(("a", [("done", -0.5), ("failed:oom", None)]), ("b", [("done", -0.8)]), name="dev/loss/s")
    before = scores_of(state, by_loss)
    add_runs(state, ("a", [("done", -9.0), ("failed:nan", None)]), phase="confirm", name="dev/loss/s")
    assert scores_of(state, by_loss) == before
    assert before["a"][1] == pytest.approx(-0.8 - 0.3)
    assert scores_of(state, by_loss, "confirm") == {"a": {1000: -9.0, 1001: pytest.approx(-18.0)}}
    assert table_of(state, by_loss).values[0, 1] == pytest.approx(-1.1)


def test_failed_baselines_count_below_other_baselines_and_do_not_touch_the_method():
    by_loss = Selection("dev/loss/s", "metric", "mean", "", ())
    state = ledger_of(
        ("a", [("done", -0.5), ("failed:oom", None)]),
        ("b", [("done", -0.8)]),
        ("baseline ls", [("done", -2.0), ("failed:nan", None), ("done", None)]),
        ("baseline constant", [("done", -1.0)]),
        name="dev/loss/s",
    )
    scores = scores_of(state, by_loss)
    assert scores["a"][1] == pytest.approx(-1.1)
    assert scores["baseline ls"] == {0: -2.0, 1: pytest.approx(-3.0), 2: None}  # it does not report the score
    assert table_of(state, by_loss).ids == ("a", "b")


def test_a_collapsed_run_counts_with_its_score_however_it_was_recorded():
    """Test .80, .80 and three collapsed seeds at .06 have the mean .356, not .80."""
    for status in ("done", "failed:collapsed"):
        state = ledger_of(("a", [("done", 0.8), ("done", 0.8), *[(status, 0.06)] * 3]))
        scores = scores_of(state, selection())["a"]
        assert math.fsum(scores.values()) / 5 == pytest.approx(0.356)
        assert not any(run.failed for run in state.runs())
    assert [run.collapsed for run in state.runs()] == [False, False, True, True, True]


def test_without_any_score_no_run_counts_as_a_number():
    state = ledger_of(("a", [("failed:oom", None), ("failed:error", None)]))
    assert scores_of(state, selection()) == {"a": {0: None, 1: None}}
    assert np.isnan(table_of(state, selection()).values).all()


def test_a_failed_run_never_raises_a_mean():
    for last in (None, 0.01, 0.99):
        state = ledger_of(("a", [("done", 0.5), ("failed:nan", last)]), ("b", [("done", 0.6)]))
        scores = scores_of(state, selection())["a"]
        assert scores[1] <= scores[0]


def test_the_table_of_the_estimate_has_gaps_failures_and_nothing_pruned():
    state = ledger_of(
        ("a", [("done", 0.5), ("failed:nan", 0.9), ("done", 0.7)]),
        ("b", [("done", 0.6)]),
        ("c", [("pruned", 0.99)]),
        ("d", [("done", None)]),
    )
    table, nan = table_of(state, selection()), float("nan")
    assert table.ids == ("a", "b", "d")
    expected = np.array([[0.5, 0.0, 0.7], [0.6, nan, nan], [0.0, nan, nan]])
    assert table.values == pytest.approx(expected, nan_ok=True)
    assert table.failed.tolist() == [[False, True, False], [False, False, False], [True, False, False]]


def test_the_table_marks_collapses_on_the_sets_that_rank():
    state = ledger_of(("a", [("done", 0.06), ("failed:collapsed", 0.05), ("done", 0.8)]))
    runs = state.configurations["a"].runs
    runs[0].metrics["dev/predicted_classes/s"] = runs[2].metrics["dev/predicted_classes/a"] = 1.0
    assert table_of(state, selection()).collapsed.tolist() == [[True, True, False]]  # a does not rank
    assert table_of(state, selection()).failed.tolist() == [[False] * 3]
