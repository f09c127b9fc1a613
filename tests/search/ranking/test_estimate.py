import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from seedwise.search.ranking.estimate import CLIPPED, HUBER, Table, estimate, two_way
from seedwise.search.ranking.summary import summary

SCORES = st.lists(st.integers(0, 1000).map(lambda value: value / 1000), min_size=2, max_size=12)


def table(values, failed=None, last=np.nan, collapsed=None) -> Table:
    """Rows are configurations c0, c1, ...; nan is a run that has not finished, or failed after the score `last`."""
    values = np.array(values, dtype=float)
    failed = np.zeros(values.shape, dtype=bool) if failed is None else np.array(failed, dtype=bool)
    scores = [*values[np.isfinite(values)], *([last] if np.isfinite(last) else [])]
    lowest = min(scores, default=np.nan)
    values[failed] = 0.0 if lowest >= 0 else lowest - (np.ptp(scores) or -lowest) if scores else np.nan
    collapsed = np.zeros(values.shape, dtype=bool) if collapsed is None else np.array(collapsed)
    return Table(tuple(f"c{row}" for row in range(len(values))), values, failed, collapsed)


def simulated(draw, configurations, replicates, *, noise=1.0, seeds=1.0, between=2.0, missing=0.0):
    """True means, and a table drawn from the model."""
    truth = draw.normal(50, between, configurations)
    values = truth[:, None] + draw.normal(0, seeds, replicates) + draw.normal(0, noise, (configurations, replicates))
    gaps = draw.random(values.shape) < missing
    gaps[:, 0] = False
    return truth, np.where(gaps, np.nan, values)


@given(SCORES)
def test_summary_is_scipys_t_interval(values):
    result = summary(values)
    assert result.n == len(values)
    assert result.mean == pytest.approx(np.mean(values))
    assert result.sd == pytest.approx(np.std(values, ddof=1))
    if result.sd > 1e-9:
        low, high = stats.t.interval(0.95, len(values) - 1, loc=np.mean(values), scale=stats.sem(values))
        assert (result.ci_low, result.ci_high) == (pytest.approx(low), pytest.approx(high))


def test_one_replicate_has_no_spread():
    assert summary([0.5]).sd is None
    assert summary([0.5]).ci_low is None


def test_effects_solve_the_mixed_model_equations(monkeypatch):
    """With the two sds given, the replicates' effects are the solution of Henderson's equations, here in full size."""
    monkeypatch.setattr("seedwise.search.ranking.estimate.HUBER", 1e9)  # all observations have the same weight
    monkeypatch.setattr("seedwise.search.ranking.estimate.ROUNDS", 200)  # until the sds converge
    values = simulated(np.random.default_rng(1), 30, 6, missing=0.3)[1]
    values[20:, 1:] = np.nan
    result = two_way(values)
    rows, columns = np.nonzero(np.isfinite(values))
    design = np.zeros((len(rows), 36))
    design[np.arange(len(rows)), rows] = 1
    design[np.arange(len(rows)), 30 + columns] = 1
    penalty = np.diag([0.0] * 30 + [result.noise**2 / result.seeds**2] * 6)
    whole = np.linalg.solve(design.T @ design + penalty, design.T @ values[rows, columns])
    assert result.effects == pytest.approx(whole[30:], abs=1e-6)


def test_the_sds_are_those_of_the_simulation():
    draw = np.random.default_rng(2)
    fits = [two_way(simulated(draw, 60, 12, noise=1.5, seeds=0.8, missing=0.3)[1]) for _ in range(20)]
    assert np.mean([fit.noise for fit in fits]) == pytest.approx(1.5, rel=0.05)
    assert np.sqrt(np.mean([fit.seeds**2 for fit in fits])) == pytest.approx(0.8, rel=0.2)


def test_a_lucky_seed_is_lucky_for_all():
    """One configuration ran only at good seeds: its raw mean is the highest, its true mean is not."""
    draw = np.random.default_rng(3)
    luck = np.array([3.0, 2.5, -2.0, -3.0, -0.5])
    values = np.array([10.0, 11.0, 9.0, 10.5])[:, None] + luck + draw.normal(0, 0.1, (4, 5))
    values[0, 2:] = np.nan
    assert np.nanargmax(np.nanmean(values, axis=1)) == 0
    result = estimate(table(values))
    assert result.ids[result.best] == "c1"
    assert result.mean[0] - result.mean[1] == pytest.approx(-1.0, abs=0.3)


def test_the_posterior_is_calibrated_and_better_than_raw_means():
    draw, inside, errors = np.random.default_rng(4), [], []
    for _ in range(40):
        truth, values = simulated(draw, 30, 8, noise=2.0, seeds=1.0, between=1.5, missing=0.6)
        result = estimate(table(values))
        centre = truth.mean() - result.mean.mean()  # an effect shared by all replicates cannot be estimated
        errors.append([np.mean((result.mean + centre - truth) ** 2), np.mean((np.nanmean(values, 1) - truth) ** 2)])
        intervals = np.array([result.interval(index) for index in range(30)])
        inside.append(np.mean((intervals[:, 0] <= truth) & (truth <= intervals[:, 1])))
    ours, raw = np.mean(errors, axis=0)
    assert ours < 0.7 * raw
    assert 0.90 <= np.mean(inside) <= 0.99


def test_p_best_and_regret_are_those_of_independent_posteriors():
    """Two configurations, many replicates: by hand from two normal distributions."""
    draw = np.random.default_rng(5)
    values = np.array([50.2, 50.0])[:, None] + draw.normal(0, 1, (2, 40))
    result = estimate(table(values))
    difference = result.mean[0] - result.mean[1]
    spread = np.sqrt(result.sd[0] ** 2 + result.sd[1] ** 2)
    distribution = stats.t(result.freedom, loc=difference, scale=spread)
    assert result.p_best[0] == pytest.approx(distribution.sf(0), abs=0.03)
    worse = distribution.expect(lambda x: max(0.0, -x if difference > 0 else x))
    assert result.regret == pytest.approx(worse, abs=0.03)


@settings(max_examples=60)
@given(st.data(), st.integers(1, 8), st.integers(1, 6))
def test_any_table_gives_finite_answers_in_any_order(data, configurations, replicates):
    cells = data.draw(
        st.lists(
            st.lists(
                st.sampled_from([0.5, 0.5, 0.7, 0.71, 0.1, "gap", "failed"]), min_size=replicates, max_size=replicates
            ),
            min_size=configurations,
            max_size=configurations,
        )
    )
    for row in cells:
        row[0] = 0.5 if row[0] == "gap" else row[0]
    values = np.array([[cell if isinstance(cell, float) else np.nan for cell in row] for row in cells])
    failed = np.array([[cell == "failed" for cell in row] for row in cells])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = estimate(table(values, failed))
    assert np.isfinite(result.mean).all()
    assert (result.sd >= 0).all()
    assert result.p_best.sum() == pytest.approx(1)
    assert result.regret >= 0
    assert result.tied[result.best]
    order = np.array(data.draw(st.permutations(range(configurations))))
    again = estimate(table(values[order], failed[order]))
    assert again.mean == pytest.approx(result.mean[order], abs=1e-6)


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.integers(2, 6))
def test_a_configuration_is_never_better_for_failing(seed, replicates):
    """The same table, with one run of one configuration as a gap and as a failure."""
    _, values = simulated(np.random.default_rng(seed), 6, replicates, missing=0.3)
    row = seed % 6
    values[row, -1] = np.nan
    failed = np.zeros(values.shape, dtype=bool)
    before = estimate(table(values))
    failed[row, -1] = True
    after = estimate(table(values, failed))
    assert after.mean[row] < before.mean[row] + 1e-9
    assert after.failed[row] == 1
    assert list(after.ranking).index(row) >= list(before.ranking).index(row)


def test_a_configuration_that_collapses_on_some_seeds_does_not_win():
    """Its better seeds are the best of all; one in four collapses without being reported as a failure."""
    draw = np.random.default_rng(6)
    values = np.array([80.0] * 8 + [82.0])[:, None] + draw.normal(0, 0.5, (9, 8))
    values[8, [2, 5]] = 20.0
    result = estimate(table(values))
    assert result.best != 8
    assert result.p_best[8] < 0.1
    low, high = result.interval(8)
    assert high - low > 4 * np.diff(result.interval(0))[0]  # its own spread shows
    assert result.noise == pytest.approx(0.5, rel=0.4)  # and does not widen the others


def test_clipping_leaves_what_the_constant_says():
    normal = stats.norm.expect(lambda x: min(x * x, HUBER**2))
    assert pytest.approx(normal, abs=1e-3) == CLIPPED


def test_a_collapse_that_was_reported_as_a_failure_counts_as_low_as_it_was():
    """Twenty near 0.80, one at 0.87 that collapsed to 0.05 on one seed of four."""
    draw = np.random.default_rng(11)
    values = np.array([0.80] * 19 + [0.87])[:, None] + draw.normal(0, 0.01, (20, 4))
    finished = values.copy()
    finished[19, 2] = 0.05
    failed = np.zeros(values.shape, dtype=bool)
    failed[19, 2], values[19, 2] = True, np.nan
    as_failure, as_score = estimate(table(values, failed, 0.05)), estimate(table(finished))
    assert as_failure.mean[19] < as_score.mean[19] + 1e-9
    assert as_failure.best != 19
    assert as_failure.p_best[19] < 0.2  # one collapse in four may be chance


def test_failing_is_never_better_than_finishing_with_the_same_score():
    """In all of 500 tables of 2 to 8 configurations, no rank rises."""
    for seed in range(500):
        draw = np.random.default_rng(seed)
        configurations, replicates = draw.integers(2, 9), draw.integers(2, 7)
        _, values = simulated(draw, configurations, replicates, missing=0.2)
        row = seed % configurations
        finished = estimate(table(values))
        failed, last = np.zeros(values.shape, dtype=bool), values[row, 0]
        failed[row, 0], values[row, 0] = True, np.nan
        after = estimate(table(values, failed, last))
        assert after.ranking.index(row) >= finished.ranking.index(row)


def test_the_only_success_is_best():
    values = np.full((30, 2), np.nan)
    values[7, 0] = 0.4
    result = estimate(table(values, np.isnan(values) & (np.arange(2) == 0)))
    assert result.best == 7
    assert result.p_best[7] > 0.5


def test_heavy_tails_hardly_inflate_the_noise():
    draw = np.random.default_rng(7)
    clean, tailed = [], []
    for _ in range(20):
        truth = draw.normal(0, 2, 40)
        normal = draw.normal(0, 1, (40, 6))
        clean.append(two_way(truth[:, None] + normal).noise)
        outliers = np.where(draw.random((40, 6)) < 0.03, draw.normal(0, 12, (40, 6)), 0)
        tailed.append(two_way(truth[:, None] + normal + outliers).noise)
    assert np.mean(clean) == pytest.approx(1, rel=0.05)
    assert np.mean(tailed) < 1.5  # the plain sd of such noise is 2.3


def test_equal_scores_of_one_pair_are_not_a_search_without_noise():
    values = np.full((8, 3), np.nan)
    values[:, 0] = [0.50, 0.55, 0.61, 0.64, 0.66, 0.70, 0.72, 0.73]
    values[0, 1] = 0.50
    result = estimate(table(values))
    assert result.noise > 0.005
    assert result.tied.sum() > 1


def test_a_difference_that_pairs_show_is_no_tie_although_the_seeds_spread_more():
    draw = np.random.default_rng(8)
    values = np.array([80.0, 79.9, 77.0])[:, None] + draw.normal(0, 3, 6) + draw.normal(0, 0.5, (3, 6))
    assert estimate(table(values)).tied.tolist() == [True, True, False]
    assert stats.ttest_rel(values[0], values[2]).confidence_interval(0.95).low > 0
    assert stats.ttest_ind(values[0], values[2]).confidence_interval(0.95).low < 0


def test_pending_runs_narrow_the_draws():
    _, values = simulated(np.random.default_rng(9), 4, 2, between=0.1)
    result = estimate(table(values))
    alone = result.draws(np.random.default_rng(0), 4000)
    pending = result.draws(np.random.default_rng(0), 4000, np.array([6, 0, 0, 0]))
    assert pending[:, 0].std() < 0.8 * alone[:, 0].std()
    assert pending[:, 1].std() == pytest.approx(alone[:, 1].std())


def test_a_collapse_lowers_its_own_configuration_and_says_nothing_of_its_seed():
    """Learned from, it once lifted those that ran at this seed alone to the top, and above 1."""
    gap = np.nan
    values = np.array([[0.06, 0.85, 0.86], [0.84, 0.83, 0.85], [0.80, gap, gap], [0.82, gap, gap]])
    collapsed = np.zeros(values.shape, dtype=bool)
    collapsed[0, 0] = True
    result = estimate(table(values, collapsed=collapsed))
    assert result.best == 1
    assert result.mean[2:] == pytest.approx([0.80, 0.82], abs=0.01)
    assert result.raw[0] == pytest.approx((0.06 + 0.85 + 0.86) / 3, abs=0.01)
    assert not result.failed.any()
    learned = estimate(table(values[[0, 2, 3]], collapsed=collapsed[[0, 2, 3]]))
    assert learned.mean.max() < 0.87


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.integers(2, 6))
def test_failing_is_never_better_than_collapsing(seed, replicates):
    _, values = simulated(np.random.default_rng(seed), 6, replicates, missing=0.3)
    row, values = seed % 6, values / 100
    fell = np.zeros(values.shape, dtype=bool)
    fell[row, 0], values[row, 0] = True, 0.06
    collapsing, failing = (
        estimate(table(values, collapsed=fell)),
        estimate(table(np.where(fell, np.nan, values), fell, 0.06)),
    )
    assert failing.mean[row] <= collapsing.mean[row] + 1e-9


def test_a_search_in_which_all_collapse_has_estimates():
    values = np.array([[0.05, 0.06], [0.06, 0.07]])
    result = estimate(table(values, collapsed=np.ones(values.shape, dtype=bool)))
    assert result.best == 1
    assert np.isfinite(result.mean).all()
