import pytest

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


def test_pivots_select_and_targets_stay_audit():
    chosen = selection(on="pivot_dev", targets=("a",), pivots=("b",))
    assert chosen.names == ["dev/macro_f1/b"]
    assert chosen.audit == ["dev/macro_f1/s", "dev/macro_f1/a"]
    assert not chosen.oracle
