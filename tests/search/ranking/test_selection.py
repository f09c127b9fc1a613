import numpy as np
import pytest

from seedwise.search.ledger.state import replay
from seedwise.search.ranking.selection import Selection

METRICS = {"dev/macro_f1/s": 0.8, "dev/macro_f1/a": 0.6, "dev/macro_f1/b": 0.4}


def selection(**changes):
    return Selection(
        **{"metric": "macro_f1", "on": "source_dev", "aggregate": "mean", "source": "s", "targets": ("a", "b")}
        | changes
    )


@pytest.mark.parametrize(
    ("changes", "score", "label"),
    [
        ({}, 0.8, "macro_f1 on source_dev"),
        ({"on": "target_dev"}, 0.5, "macro_f1 on target_dev (mean), oracle"),
        ({"on": "target_dev", "aggregate": "worst"}, 0.4, "macro_f1 on target_dev (worst), oracle"),
        ({"on": "metric", "metric": "dev/macro_f1/a"}, 0.6, "dev/macro_f1/a"),
        ({"on": "pivot_dev", "targets": ("a",), "pivots": ("b",)}, 0.4, "macro_f1 on pivot_dev (mean)"),
    ],
)
def test_the_score_and_its_name(changes, score, label):
    chosen = selection(**changes)
    assert chosen.score(METRICS) == pytest.approx(score)
    assert chosen.label == label


def test_a_missing_metric_is_no_score():
    assert selection(on="target_dev").score({"dev/macro_f1/a": 0.6}) is None


def ledger_of(*results):
    """A state in which each configuration has runs (status, source score) by replicate."""
    events = [{"event": "search"}]
    for config_id, runs in results:
        events.append({"event": "ask", "config_id": config_id, "params": {}, "ask": 0})
        for replicate, (status, score) in enumerate(runs):
            common = {"config_id": config_id, "replicate": replicate, "phase": "search"}
            metrics = {} if score is None else {"dev/macro_f1/s": score}
            events.append({"event": "start", **common})
            events.append({"event": "result", **common, "status": status, "metrics": metrics, "seconds": 1})
    return replay(events)


@pytest.mark.parametrize("status", ["failed:nan", "failed:oom", "failed:error"])
def test_a_failed_run_counts_as_the_lowest_score_of_the_search(status):
    state = ledger_of(
        ("good", [("done", 0.9), ("done", 0.7)]), ("bad", [("done", 0.95), (status, 0.99)]), ("low", [("done", 0.2)])
    )
    assert selection().scores(state) == {"good": {0: 0.9, 1: 0.7}, "bad": {0: 0.95, 1: 0.2}, "low": {0: 0.2}}


def test_a_failed_run_never_raises_a_mean():
    for last in (None, 0.01, 0.99):
        state = ledger_of(("a", [("done", 0.5), ("failed:nan", last)]), ("b", [("done", 0.6)]))
        scores = selection().scores(state)["a"]
        assert scores[1] <= scores[0]


def test_a_collapsed_run_counts_as_the_lowest_score_too():
    state = ledger_of(("a", [("failed:collapsed", 0.45), ("done", 0.9)]), ("b", [("done", 0.2)]))
    assert selection().scores(state)["a"] == {0: 0.2, 1: 0.9}
    state = ledger_of(("a", [("failed:collapsed", 0.07), ("done", 0.9)]))
    assert selection().scores(state)["a"] == {0: 0.07, 1: 0.9}


def test_pivots_select_and_targets_stay_audit():
    chosen = selection(on="pivot_dev", targets=("a",), pivots=("b",))
    assert chosen.names == ["dev/macro_f1/b"]
    assert chosen.audit == ["dev/macro_f1/s", "dev/macro_f1/a"]
    assert not chosen.oracle


def test_the_table_of_the_estimate_has_gaps_failures_and_nothing_pruned():
    state = ledger_of(
        ("a", [("done", 0.5), ("failed:nan", 0.9), ("done", 0.7)]),
        ("b", [("done", 0.6)]),
        ("c", [("pruned", 0.99)]),
        ("d", [("done", None)]),
    )
    table = selection().table(state)
    assert table.ids == ("a", "b", "d")
    nan = float("nan")
    assert table.values == pytest.approx(np.array([[0.5, nan, 0.7], [0.6, nan, nan], [nan, nan, nan]]), nan_ok=True)
    assert table.failed.tolist() == [[False, True, False], [False, False, False], [True, False, False]]
    assert table.last == pytest.approx(np.array([[nan, 0.9, nan], [nan] * 3, [nan] * 3]), nan_ok=True)


def test_the_confirmation_is_not_in_the_scores_of_the_search():
    state = ledger_of(("a", [("done", 0.5), ("done", 0.6)]))
    run = {"config_id": "a", "replicate": 1000, "phase": "confirm"}
    state.apply({"event": "start", **run})
    state.apply({"event": "result", **run, "status": "done", "metrics": {"dev/macro_f1/s": 0.1}, "seconds": 1})
    assert selection().scores(state) == {"a": {0: 0.5, 1: 0.6}}
    assert selection().scores(state, "confirm") == {"a": {1000: 0.1}}
    assert selection().table(state).values.tolist() == [[0.5, 0.6]]
