"""The spread of scores by random stream, against numbers by hand, SciPy and known variances."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from scipy import stats

from seedwise.search.ledger.state import State
from seedwise.search.ranking.estimator import Estimator
from seedwise.search.ranking.results import Results
from seedwise.search.ranking.selection import Selection
from seedwise.search.studies.decomposition import as_table, decompose, in_words, show

BY_HAND = {
    "head": [0.1, 0.2, 0.3],  # variance 0.01
    "all": [0.0, 0.2, 0.4],  # variance 0.04
    "order": [0.5, 0.5, 0.8],  # variance 0.03
    "dropout": [0.7, 0.7, 0.7],
    "anchors": [0.4],
}
SCORES = st.lists(st.floats(0, 1), min_size=2, max_size=12)


def test_the_rows_are_those_of_the_arithmetic_by_hand():
    rows = decompose(BY_HAND)
    assert [row["stream"] for row in rows] == ["all", "order", "head", "dropout", "anchors"]
    assert [row["n"] for row in rows] == [3, 3, 3, 3, 1]
    assert [row["variance"] for row in rows[:4]] == pytest.approx([0.04, 0.03, 0.01, 0.0])
    assert [row["sd"] for row in rows[:4]] == pytest.approx([0.2, 0.03**0.5, 0.1, 0.0])
    assert [row["share"] for row in rows[:4]] == pytest.approx([1.0, 0.75, 0.25, 0.0])
    assert set(rows[4]) == {"stream", "sd", "variance", "share", "ci_low", "ci_high", "n"}
    assert [rows[4][key] for key in ("sd", "variance", "share", "ci_low", "ci_high")] == [None] * 5


def test_the_interval_is_the_one_of_the_textbooks():
    """n = 10, s = 2: the printed chi-square table has 19.023 and 2.700 for 9 degrees of freedom."""
    values = stats.zscore(np.arange(10.0), ddof=1) * 2
    (row,) = decompose({"head": values})
    assert row["sd"] == pytest.approx(2)
    assert row["ci_low"] == pytest.approx((9 * 4 / 19.023) ** 0.5, rel=1e-4)
    assert row["ci_high"] == pytest.approx((9 * 4 / 2.700) ** 0.5, rel=1e-3)


def test_the_interval_holds_the_true_sd_as_often_as_it_says():
    draw = np.random.default_rng(0)
    covered = [
        row["ci_low"] <= 0.02 <= row["ci_high"]
        for values in draw.normal(0.8, 0.02, size=(2000, 6))
        for row in decompose({"head": values})
    ]
    assert stats.binomtest(sum(covered), len(covered), 0.95).pvalue > 0.001


def test_known_variances_of_an_additive_score_come_back():
    draw, true = np.random.default_rng(1), {"head": 0.03, "order": 0.02, "dropout": 0.01}
    alone = {stream: 0.5 + draw.normal(0, sd, 4000) for stream, sd in true.items()}
    together = 0.5 + sum(draw.normal(0, sd, 4000) for sd in true.values())
    rows = {row["stream"]: row for row in decompose(alone | {"all": together})}
    for stream, sd in true.items():
        assert rows[stream]["share"] == pytest.approx(sd**2 / 0.0014, abs=0.05)
    assert sum(rows[stream]["share"] for stream in true) == pytest.approx(1, abs=0.07)


def test_an_interaction_is_in_no_share():
    """The score is a product: with one factor held at a draw of zero, the other has no effect."""
    head, order = np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 5.0, 1.0, 2.0])
    rows = decompose({"head": head * order[0], "order": head[0] * order, "all": head * order})
    assert [row["share"] for row in rows] == [1.0, 0.0, 0.0]


@given(st.dictionaries(st.sampled_from(["all", "head", "order", "dropout"]), SCORES, min_size=1), st.floats(-5, 5))
def test_a_shift_of_all_scores_changes_nothing(scores, shift):
    before = decompose(scores)
    after = {row["stream"]: row for row in decompose({k: [v + shift for v in vs] for k, vs in scores.items()})}
    for row in before:
        assert row["sd"] == pytest.approx(np.std(scores[row["stream"]], ddof=1), abs=1e-12)
        assert after[row["stream"]]["sd"] == pytest.approx(row["sd"], abs=1e-12)
        assert row["ci_low"] <= row["sd"] <= row["ci_high"]


@pytest.mark.parametrize("scores", [{"head": [0.1, 0.2]}, {"head": [0.1, 0.2], "all": [0.3, 0.3]}])
def test_without_a_spread_of_all_there_are_no_shares(scores):
    assert all(row["share"] is None for row in decompose(scores))
    assert "of the variance" not in in_words(decompose(scores))


def test_the_same_score_again_and_again_has_no_spread_at_all():
    assert decompose({"order": [0.1] * 3})[0]["variance"] == 0.0  # whose mean is 0.10000000000000002


def test_the_sentence_names_the_largest_component_and_those_tied_with_it():
    text = in_words(decompose(BY_HAND))
    assert text.startswith("Most of the spread comes from data order: sd 0.1732, 75 % of the variance of all together.")
    assert "it may as well be head initialisation." in text
    assert "dropout" not in text  # it has no spread
    assert "With 3 replicates the true sd may be up to 6.3 times the one shown." in text  # sqrt(2 / 0.0506)
    assert "need not add up to 100 %" in text


def test_the_sentence_is_certain_where_the_numbers_are():
    draw = np.random.default_rng(2)
    clear = {stream: draw.normal(0, sd, 50) for stream, sd in {"all": 0.03, "head": 0.03, "order": 0.003}.items()}
    assert "may as well" not in in_words(decompose(clear))


@pytest.mark.parametrize(
    ("scores", "start"),
    [
        ({}, "No stream was varied alone"),
        ({"all": [0.1, 0.2], "head": [0.3]}, "No stream was varied alone"),
        ({"all": [0.1, 0.2], "head": [0.3, 0.3]}, "No stream changes the score"),
    ],
)
def test_the_sentence_claims_nothing_without_a_spread(scores, start):
    assert in_words(decompose(scores)).startswith(start)


def test_the_table_fits_a_terminal():
    console = Console(file=io.StringIO(), width=80)
    console.print(as_table(decompose(BY_HAND)))
    lines = console.file.getvalue().splitlines()
    assert "0.1732" in next(line for line in lines if "data order" in line)
    assert next(line for line in lines if "choice of anchors" in line).split()[-4:] == ["1", "-", "-", "-"]


def test_a_decomposition_groups_runs_by_the_varied_stream_and_leaves_out_failures():
    state = State()
    state.apply(
        {"event": "search", "specification": {"select": {"metric": "value", "on": "metric", "aggregate": "mean"}}}
    )
    for ask, (stream, values) in enumerate(BY_HAND.items()):
        key = {"config_id": stream}
        state.apply({"event": "ask", **key, "params": {}, "ask": ask, "vary": None if stream == "all" else stream})
        for replicate, value in enumerate([*values, 9.0]):
            run = {**key, "replicate": replicate, "phase": "search"}
            status = "failed:nan" if value == 9.0 else "done"
            state.apply({"event": "start", **run})
            state.apply(
                {
                    "event": "result",
                    **run,
                    "status": status,
                    "metrics": {"value": value},
                    "seconds": 1.0,
                    "step": 1,
                    "error": "",
                }
            )
    console = Console(file=io.StringIO(), width=80)
    show(Results(state, Estimator(Selection.from_specification(state.specification))), console)
    text = console.file.getvalue()
    assert in_words(decompose(BY_HAND)) + " Left out: 5 failed runs." in text
    assert "75 %" in next(line for line in text.splitlines() if "data order" in line)
