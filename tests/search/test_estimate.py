import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from search.estimate import p_best, summary, tied

SCORES = st.lists(st.integers(0, 1000).map(lambda value: value / 1000), min_size=2, max_size=12)


@given(SCORES)
def test_summary_is_scipys_t_interval(values):
    found = summary(values)
    assert found.n == len(values)
    assert found.mean == pytest.approx(np.mean(values))
    assert found.sd == pytest.approx(stats.tstd(values))
    if found.sd > 0:
        low, high = stats.t.interval(0.95, len(values) - 1, loc=np.mean(values), scale=stats.sem(values))
        assert (found.ci_low, found.ci_high) == (pytest.approx(low), pytest.approx(high))


def test_one_replicate_has_no_spread():
    assert summary([0.5]).sd is None
    assert summary([0.5]).ci_low is None


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 1000)), min_size=2, max_size=12))
def test_tied_is_the_paired_t_test(pairs):
    best, other = (dict(enumerate(np.array(side) / 1000)) for side in zip(*pairs, strict=True))
    differences = np.array(list(best.values())) - np.array(list(other.values()))
    if np.ptp(differences) < 1e-9:  # the test is undefined without spread
        assert tied(best, other) == (abs(differences[0]) < 1e-9)
    else:
        p = stats.ttest_rel(list(best.values()), list(other.values())).pvalue
        if abs(p - 0.05) > 1e-6:
            assert tied(best, other) == (p > 0.05)


def test_only_shared_replicates_are_compared():
    assert tied({0: 0.9, 1: 0.9}, {2: 0.1, 3: 0.1})
    assert not tied({0: 0.9, 1: 0.91, 7: 0.0}, {0: 0.1, 1: 0.11, 9: 1.0})


def test_p_best_of_two_is_the_t_probability_of_their_difference():
    """With equal spread and number, P(first is best) is a probability of a difference of two t variables."""
    first, second = [0.50, 0.52, 0.54, 0.56], [0.49, 0.51, 0.53, 0.55]
    pooled = np.sqrt((np.var(first, ddof=1) + np.var(second, ddof=1)) / 2 / 4)
    draws = np.random.default_rng(9).standard_t(6, size=(2, 400_000)) * pooled
    expected = np.mean(draws[0] - draws[1] > np.mean(second) - np.mean(first))
    assert p_best([first, second])[0] == pytest.approx(expected, abs=0.03)


@given(st.lists(SCORES, min_size=1, max_size=6))
def test_p_best_is_a_distribution_that_favours_the_best_mean(scores):
    chances = p_best(scores)
    assert sum(chances) == pytest.approx(1)
    equal = {len(values) for values in scores}
    if len(equal) == 1 and len({tuple(values) for values in scores}) == len(scores):
        means = [np.mean(values) for values in scores]
        assert chances[int(np.argmax(means))] >= max(chances) - 0.05
