"""The spread of scores by stream and language: against numbers by hand, NumPy, SciPy, and variances that are known."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from seedwise.search.ranking.decomposition import decompose, points, tables
from seedwise.search.ranking.estimator import Estimator
from seedwise.search.ranking.results import Results
from seedwise.search.ranking.selection import Selection
from seedwise.search.tracking.mirror import Mirror
from tests.search.hand_written import HandWritten, decomposed, metrics
from tests.search.story import follow_here, history, picture, runs_of, twin
from tests.search.tracking.random_ledgers import RandomLedger

BY_HAND = {
    "head": [0.1, 0.2, 0.3],  # variance 0.01
    "all": [0.0, 0.2, 0.4],  # variance 0.04
    "order": [0.5, 0.5, 0.8],  # variance 0.03
    "dropout": [0.7, 0.7, 0.7],
    "anchors": [0.4],
}
SCORES = st.lists(st.floats(0, 1), min_size=2, max_size=12)
# The data order moves qor and nothing else, the head the source alone, dropout a little of everything.
MOVED = {
    "all": [(0.80, 0.60, 0.50), (0.84, 0.61, 0.40), (0.78, 0.59, 0.62), (0.82, 0.62, 0.47)],
    "order": [(0.80, 0.60, 0.50), (0.80, 0.60, 0.41), (0.80, 0.60, 0.60), (0.80, 0.60, 0.48)],
    "head": [(0.80, 0.60, 0.50), (0.83, 0.60, 0.50), (0.79, 0.60, 0.50)],
    "dropout": [(0.80, 0.60, 0.50), (0.81, 0.61, 0.51), (0.80, 0.59, 0.50), (0.79, 0.60, 0.49)],
}
RUNS = {stream: [metrics("dev", *scores) for scores in replicates] for stream, replicates in MOVED.items()}
EVENTS = decomposed(RUNS).events
WHOLE = points(decomposed(RUNS).results)


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
    """The score is a product: with either factor held at a draw of zero, the other changes nothing."""
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


def test_the_same_score_again_and_again_has_no_spread_at_all():
    assert decompose({"order": [0.1] * 3})[0]["variance"] == 0.0  # whose mean is 0.10000000000000002


@pytest.mark.parametrize("position", range(3))
def test_every_language_has_the_rows_that_numpy_computes_from_the_ledger(position):
    name = f"dev/macro_f1/{('qel', 'qan', 'qor')[position]}"
    rows = {row["stream"]: row for row in tables(decomposed(RUNS).results)[name]}
    assert rows.keys() == MOVED.keys()
    whole = np.var([scores[position] for scores in MOVED["all"]], ddof=1)
    for stream, replicates in MOVED.items():
        values = np.array([scores[position] for scores in replicates])
        n, row = len(values), rows[stream]
        low, high = (values.var(ddof=1) * (n - 1) / stats.chi2.ppf([0.975, 0.025], n - 1)) ** 0.5
        expected = {"sd": values.std(ddof=1), "variance": values.var(ddof=1), "ci_low": low, "ci_high": high}
        expected |= {"share": values.var(ddof=1) / whole, "n": n, "of": n}
        assert row == {"stream": stream} | {key: pytest.approx(value, abs=1e-12) for key, value in expected.items()}


def test_a_stream_that_moves_a_single_language_has_no_spread_in_the_others():
    known = tables(decomposed(RUNS).results)
    spread = {name: next(row["sd"] for row in rows if row["stream"] == "order") for name, rows in known.items()}
    assert list(spread) == ["score", "dev/macro_f1/qel", "dev/macro_f1/qan", "dev/macro_f1/qor"]  # order of the task
    assert spread.pop("dev/macro_f1/qor") == pytest.approx((0.018475 / 3) ** 0.5)  # .50 .41 .60 .48: mean .4975
    assert set(spread.values()) == {0.0}
    assert known["score"] == known["dev/macro_f1/qel"]  # which is what ranks
    orders = {tuple(row["stream"] for row in rows) for rows in known.values()}
    assert orders == {("all", "head", "dropout", "order")}  # by the spread of the score, in every table


def test_a_collapsed_run_counts_with_its_scores_and_a_failed_one_is_left_out():
    search = decomposed({"all": RUNS["all"], "order": RUNS["order"]})
    search.run("c-order", 4, metrics("dev", 0.9, 0.9, 0.9), status="failed:nan")
    search.run("c-order", 5, metrics("dev", 0.2, 0.3), status="failed:collapsed")
    counts = {name: (rows[1]["n"], rows[1]["of"]) for name, rows in tables(search.results).items()}
    languages = {"dev/macro_f1/qel": (5, 6), "dev/macro_f1/qan": (5, 6), "dev/macro_f1/qor": (4, 6)}
    assert counts == {"score": (5, 6)} | languages
    (row,) = (row for row in tables(search.results)["dev/macro_f1/qan"] if row["stream"] == "order")
    assert row["sd"] == pytest.approx(np.std([0.6, 0.6, 0.6, 0.6, 0.3], ddof=1))


def test_a_number_that_is_none_is_not_counted():
    search = decomposed({"all": [metrics("dev", 0.8, float("nan")), *RUNS["all"]]})
    assert tables(search.results)["dev/macro_f1/qan"][0]["n"] == 4


def test_test_sets_come_after_dev_sets_and_other_metrics_are_left_out():
    more = metrics("dev", 0.5, 0.5, 0.5, metric="accuracy") | {"dev/loss": 1.0, "train/loss/x/y": 1.0}
    values = metrics("test", 0.7, 0.6, 0.5) | metrics("dev", 0.7, 0.6) | more
    known = tables(decomposed({"all": [values] * 2, "head": [values] * 2}).results)
    assert list(known) == ["score", *metrics("dev", 0, 0), *metrics("test", 0, 0, 0)]


def test_a_score_without_languages_stands_alone():
    """Of a method of one's own."""
    runs = {"all": [{"value": 0.1}, {"value": 0.3}], "head": [{"value": 0.1}]}
    state = decomposed(runs).state
    known = tables(Results(state, Estimator(Selection("value", "metric", "mean", "", ()))))
    assert list(known) == ["score"]
    assert known["score"][0]["sd"] == pytest.approx(0.02**0.5)


def told(uri: str) -> HandWritten:
    """The decomposition, ended, for an MLflow store."""
    search = decomposed(RUNS)
    search.resolved["tracking"]["uri"] = uri
    search.end()
    return search


def test_mlflow_has_the_sds_and_shares_of_the_score_and_every_language(database, tmp_path):
    uri = database()
    assert follow_here(told(uri).write(tmp_path / "s"))
    runs = runs_of(uri, "demo")
    written = {key[0]: named(run.data.metrics) for key, run in runs.items() if named(run.data.metrics)}
    expected = {}
    for position, name in enumerate(("dev/macro_f1/qel", "dev/macro_f1/qan", "dev/macro_f1/qor")):
        variances = {
            stream: np.var([scores[position] for scores in replicates], ddof=1) for stream, replicates in MOVED.items()
        }
        sds = {f"sd/{name}/{stream}": variance**0.5 for stream, variance in variances.items()}
        whole = variances.pop("all")
        expected |= sds | {f"share/{name}/{stream}": variance / whole for stream, variance in variances.items()}
    of_source = {name: value for name, value in expected.items() if "dev/macro_f1/qel" in name}
    expected |= {name.replace("dev/macro_f1/qel", "score"): value for name, value in of_source.items()}  # it ranks
    approximately = {f"decomposition/{name}": pytest.approx(value, abs=1e-12) for name, value in expected.items()}
    assert written == {"search": approximately}
    grown = history(uri, runs[("search",)], "decomposition/sd/dev/macro_f1/qor/order")
    values = [scores[2] for scores in MOVED["order"]]  # four runs of all streams end before the first of these
    assert grown == [(n + 4, pytest.approx(np.std(values[:n], ddof=1))) for n in (2, 3, 4)]


def named(values: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in values.items() if name.startswith("decomposition/")}


def test_a_follower_that_ends_after_any_line_and_the_next_one_write_the_same(database, tmp_path):
    """Kills within a write are in test_sinks.py, which has decompositions among its ledgers."""
    uri, other = database(), database()
    search = told(uri)
    folder, lines = search.write(tmp_path / "s"), search.events
    for read in (9, 14, 20, 33):
        (folder / "ledger.jsonl").write_text("".join(json.dumps(event) + "\n" for event in lines[:read]))
        assert follow_here(folder)
    search.write(folder)
    assert follow_here(folder)
    assert follow_here(twin(folder, tmp_path / "twin", other))
    assert picture(uri, "demo")[0] == picture(other, "demo")[0]


@given(st.integers(0, 30), st.integers(1, 20))
def test_the_last_value_of_each_metric_is_that_of_the_whole_ledger(lines, part):
    mirror, last = Mirror(), {}
    for start, end in ((0, lines), *((start, start + part) for start in range(lines, len(EVENTS), part))):
        for point in (point for update in mirror.take(EVENTS[start:end]) for point in update.points):
            if point.name.startswith("decomposition/"):
                assert last.get(point.name) != point.value  # only what changed
                last[point.name] = point.value
    assert last == WHOLE


def test_a_search_has_none():
    mirror = Mirror()
    named = {point.name for update in mirror.take(RandomLedger(0).events) for point in update.points}
    assert not any(name.startswith("decomposition/") for name in named)


def test_two_replicates_have_no_share_and_no_sd_beyond_what_bounded_scores_can_have():
    """Of two nearly equal scores in `all`, a share was once 65294, and the sd of an F1 reached .999."""
    rows = decompose({"all": [0.8000, 0.8001], "head": [0.80, 0.83]}, (0.0, 1.0))
    assert [row["share"] for row in rows] == [None, None]
    assert max(row["ci_high"] for row in rows) == pytest.approx(0.5)  # half of the scores at either bound
    assert decompose({"head": [0.80, 0.83]})[0]["ci_high"] > 0.5
