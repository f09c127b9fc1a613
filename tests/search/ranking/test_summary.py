"""Intervals of means against SciPy, by hand, and by how often they hold the true mean."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from benchmarks.coverage import coverage
from seedwise.search.ranking.summary import NO_POOL, Pool, bounds_of, squares_of, summary, within

UNIT = (0.0, 1.0)
SCORES = st.lists(st.floats(0, 1, allow_subnormal=False), min_size=2, max_size=10)


def test_alone_the_interval_is_students():
    scores = [0.61, 0.65, 0.63, 0.70]
    low, high = stats.t.interval(0.95, 3, np.mean(scores), stats.sem(scores))
    assert (summary(scores).ci_low, summary(scores).ci_high) == pytest.approx((low, high))


def test_two_seeds_alone_say_nothing_and_the_interval_ends_at_the_bounds():
    """Two seeds of EAR with the mean .598 once had the test macro-F1 '.598 [-.167, 1.363]'."""
    half = 0.765 / stats.t.ppf(0.975, 1)  # of the difference of the two
    scores = [0.598 - half, 0.598 + half]
    alone = summary(scores)
    assert (alone.ci_low, alone.ci_high) == pytest.approx((-0.167, 1.363), abs=1e-3)
    assert (summary(scores, bounds=UNIT).ci_low, summary(scores, bounds=UNIT).ci_high) == (0.0, 1.0)


def test_other_configurations_count_as_ten_degrees_of_freedom_at_most():
    own, spread = (
        [0.598, 0.602],
        [[0.5, 0.52, 0.54, 0.5, 0.51], [0.7, 0.7, 0.73, 0.71, 0.7], [0.4, 0.45, 0.41, 0.42, 0.4]],
    )
    pool = Pool.of([own, *spread, [0.3, 0.3, 0.3]])
    assert pool.freedom == 1 + 4 + 4 + 4  # the last group draws nothing at random
    squares = sum(np.var(group) * len(group) for group in spread)
    variance = (np.var(own, ddof=1) + 10 * squares / 12) / 11
    low, high = stats.t.interval(0.95, 11, 0.6, (variance / 2) ** 0.5)
    over = summary(own, pool.without(own), UNIT)
    assert (over.ci_low, over.ci_high) == pytest.approx((low, high))
    assert over.sd == pytest.approx(np.std(own, ddof=1))  # the spread that is shown is its own


def test_few_other_seeds_count_as_few():
    own, other = [0.59, 0.6, 0.61], [0.4, 0.44]
    variance = (2 * np.var(own, ddof=1) + np.var(other, ddof=1)) / 3
    low, high = stats.t.interval(0.95, 3, 0.6, (variance / 3) ** 0.5)
    over = summary(own, Pool.of([own, other]).without(own))
    assert (over.ci_low, over.ci_high) == pytest.approx((low, high))


def test_a_configuration_noisier_than_all_others_keeps_its_own_variance():
    own, calm = [0.80, 0.90, 0.85], [[0.70, 0.701, 0.702, 0.7, 0.7]] * 3
    over = summary(own, Pool.of([own, *calm]).without(own))
    low, high = stats.t.interval(0.95, 2 + 10, np.mean(own), stats.sem(own))
    assert (over.ci_low, over.ci_high) == pytest.approx((low, high))


def test_equal_scores_may_be_equal_by_chance():
    others = Pool.of([[0.5, 0.6]])
    for n in (2, 3):
        assert summary([0.1] * n, others).ci_low < 0.1 < summary([0.1] * n, others).ci_high
    assert (summary([0.1] * 3).ci_low, summary([0.1] * 3).ci_high) == pytest.approx((0.1, 0.1))


@given(SCORES, st.lists(SCORES, max_size=5), st.randoms())
def test_an_interval_holds_its_mean_stays_within_bounds_and_ignores_the_order(own, groups, order):
    over = summary(own, Pool.of([own, *groups]).without(own), UNIT)
    assert 0 <= over.ci_low <= over.mean + 1e-9
    assert over.mean - 1e-9 <= over.ci_high <= 1
    shuffled = order.sample(own, len(own))
    assert summary(shuffled, Pool.of([shuffled, *groups]).without(shuffled), UNIT).ci_low == pytest.approx(over.ci_low)


@given(SCORES, st.lists(SCORES, max_size=5))
def test_a_pool_without_a_group_is_the_pool_of_the_others(own, groups):
    left, others = Pool.of([own, *groups]).without(own), Pool.of(groups)
    assert left.freedom == others.freedom
    assert left.squares == pytest.approx(others.squares, abs=1e-9)


def test_a_score_beyond_known_bounds_is_of_another_scale():
    percent = summary([61.0, 65.0], bounds=UNIT)
    assert percent.ci_low < 61 < 65 < percent.ci_high
    assert within(UNIT, -0.2, 0.7) == (0.0, 0.7)
    assert within(UNIT, 3.0, 4.0) == (3.0, 4.0)


@pytest.mark.parametrize(
    ("name", "bounds"),
    [
        ("dev/macro_f1/fra_Latn", UNIT),
        ("test/accuracy/mean_targets", UNIT),
        ("test/retrieval/fra_Latn", UNIT),
        ("dev/correlation/eng", (-1.0, 1.0)),
        ("dev/loss/eng", (-np.inf, np.inf)),
        ("value", (-np.inf, np.inf)),
    ],
)
def test_bounds_by_metric(name, bounds):
    assert bounds_of(name) == bounds


def test_one_replicate_has_no_interval_and_equal_scores_no_squares():
    assert summary([0.5], Pool.of([[0.1, 0.3]])) == summary([0.5], NO_POOL)
    assert summary([0.5]).ci_low is None
    assert squares_of([0.1] * 3) == 0.0  # whose mean is 0.10000000000000002


@pytest.mark.parametrize("n", [2, 3, 5, 10])
def test_without_collapse_the_interval_holds_the_true_mean_in_95_of_100(n):
    share, _ = coverage(n, rows=6, collapse=0.0, repetitions=800, seed=5)
    assert 0.93 <= share <= 0.97


@pytest.mark.parametrize("n", [5, 10])
def test_with_a_fifth_of_seeds_collapsing_it_still_does_in_90_of_100(n):
    share, _ = coverage(n, rows=6, collapse=0.2, repetitions=800, seed=6)
    assert share >= 0.90
