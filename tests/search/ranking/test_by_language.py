"""Scores by language over seeds, against NumPy and by hand."""

import numpy as np
import pytest

from seedwise.search.ledger.state import Run
from seedwise.search.ranking.by_language import Pools, cell_of, flat, in_words, per_language, values_of, with_means
from seedwise.search.ranking.summary import Pool
from tests.search.ranking.test_run_scores import add_runs, ledger_of
from tests.search.ranking.test_selection import selection

RUNS = [
    {"dev/macro_f1/s": 0.80, "dev/macro_f1/a": 0.60, "dev/macro_f1/b": 0.40},
    {"dev/macro_f1/s": 0.82, "dev/macro_f1/a": 0.50, "dev/macro_f1/b": 0.60},
]


def runs_of(*metrics, status="done"):
    return [Run("c", number, "search", status, values) for number, values in enumerate(metrics)]


def test_every_language_has_mean_sd_and_counts_and_so_do_the_means_over_languages():
    table = per_language(runs_of(*RUNS), selection())["dev/macro_f1"]
    targets = [(0.60 + 0.40) / 2, (0.50 + 0.60) / 2]
    everything = [(0.80 + 0.60 + 0.40) / 3, (0.82 + 0.50 + 0.60) / 3]
    expected = {
        "s": [0.80, 0.82],
        "a": [0.60, 0.50],
        "b": [0.40, 0.60],
        "mean_targets": targets,
        "mean_all": everything,
    }
    assert table.keys() == expected.keys()
    for name, values in expected.items():
        spread = {"mean": np.mean(values), "sd": np.std(values, ddof=1), "n": 2, "failed": 0}
        assert table[name] == pytest.approx(spread)


def test_a_failed_run_is_left_out_and_counted():
    """Its metrics are those of unfinished training."""
    runs = [*runs_of(*RUNS), *runs_of({"dev/macro_f1/s": 0.1}, status="failed:nan")]
    table = per_language(runs, selection())
    assert cell_of(table, "dev/macro_f1/s") == pytest.approx({"mean": 0.81, "sd": 0.02 / 2**0.5, "n": 2, "failed": 1})
    assert in_words(cell_of(table, "dev/macro_f1/s")) == "0.810 ± 0.014, 2 of 3"
    assert in_words(cell_of(table, "dev/macro_f1/unknown")) == ""


def test_means_over_languages_need_all_of_them_and_are_not_made_of_counts():
    assert "dev/macro_f1/mean_targets" not in with_means({"dev/macro_f1/s": 0.8, "dev/macro_f1/a": 0.6}, selection())
    counts = {f"dev/{name}/{of}": 1.0 for name in ("predicted_classes", "share_of_x") for of in "sab"}
    assert with_means(counts, selection()) == counts
    assert with_means({"train/anchors/a": 9.0, "train/anchors/b": 7.0}, selection()).keys() == {
        "train/anchors/a",
        "train/anchors/b",
    }
    only_targets = with_means({"test/retrieval/a": 0.2, "test/retrieval/b": 0.4}, selection())
    assert only_targets["test/retrieval/mean_targets"] == pytest.approx(0.3)
    assert "test/retrieval/mean_all" not in only_targets
    one_target = with_means({"dev/macro_f1/s": 0.8, "dev/macro_f1/a": 0.6}, selection(targets=("a",)))
    assert one_target["dev/macro_f1/mean_all"] == pytest.approx(0.7)
    assert "dev/macro_f1/mean_targets" not in one_target  # it is the target itself


def test_columns_are_the_mean_and_beside_it_spread_and_number():
    columns = flat(per_language(runs_of({"value": 1.0}, {"value": 3.0}), selection()))
    assert columns == {"value": 2.0, "value_sd": pytest.approx(2**0.5), "value_n": 2}
    assert flat(per_language(runs_of(*RUNS), selection()))["dev/macro_f1/b_sd"] == pytest.approx(0.2 / 2**0.5)


def test_pools_are_over_configurations_and_baselines_of_a_phase_and_count_no_training_twice():
    state = ledger_of(
        ("a", [("done", 0.9), ("done", 0.8)]),
        ("baseline ls", [("done", 0.5), ("done", 0.6), ("failed:nan", 0.1)]),
        ("copy", [("done", 0.5), ("done", 0.6)]),
        ("c", [("pruned", 0.1)]),
    )
    for run in state.configurations["copy"].runs.values():
        run.same_as = f"baseline ls/{run.replicate}"
    add_runs(state, ("a", [("done", 0.1), ("done", 0.2)]), phase="confirm")
    pools, name = Pools.of(state, selection(), "search"), "dev/macro_f1/s"
    squares = pytest.approx(0.1**2 / 2)
    for metric in (name, "score"):
        assert pools.others(metric, "a") == Pool(squares, 1)  # those of the baseline, once
        assert pools.others(metric, "baseline ls") == pools.others(metric, "copy") == Pool(squares, 1)
    assert pools.others("dev/macro_f1/unknown", "a") == Pool()
    runs = state.configurations["a"].of_phase("search")
    assert values_of(runs, selection())[name] == [0.9, 0.8]
    (cell,) = per_language(runs, selection(), pools)["dev/macro_f1"].values()
    half = 4.302653 * (0.01 / 2 / 2) ** 0.5  # Student's t with two degrees of freedom; both variances are .005
    assert (cell["ci_low"], cell["ci_high"]) == pytest.approx((0.85 - half, min(1.0, 0.85 + half)))
