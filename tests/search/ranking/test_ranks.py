"""Ranks and the quantiles of distributions, against scipy.stats."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from seedwise.search.ranking.decomposition import CONFIDENCE, decompose
from seedwise.search.ranking.ranks import rank_correlation, ranks
from seedwise.search.ranking.summary import quantile

VALUES = st.lists(st.integers(-5, 5).map(float) | st.floats(-1e3, 1e3), min_size=1, max_size=12)


@given(VALUES)
def test_ranks_are_those_of_scipy(values):
    np.testing.assert_array_equal(ranks(values), stats.rankdata(values))


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=3, max_size=12))
def test_the_correlation_is_spearmans(pairs):
    first, second = zip(*pairs, strict=True)
    if len(set(first)) > 1 and len(set(second)) > 1:
        assert rank_correlation(first, second) == pytest.approx(stats.spearmanr(first, second).statistic, abs=1e-12)


@pytest.mark.parametrize("freedom", [1, 2, 4.5, 30])
def test_the_quantile_is_students(freedom):
    assert quantile(freedom) == pytest.approx(stats.t.ppf((1 + CONFIDENCE) / 2, freedom), rel=1e-9)


def test_the_interval_of_a_spread_is_that_of_chi_square():
    values = [0.2, 0.5, 0.4, 0.9]
    (row,), variance = decompose({"order": values}), np.var(values, ddof=1)
    low, high = stats.chi2.ppf([(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], 3)
    assert row["ci_low"] == pytest.approx((3 * variance / high) ** 0.5)
    assert row["ci_high"] == pytest.approx((3 * variance / low) ** 0.5)
