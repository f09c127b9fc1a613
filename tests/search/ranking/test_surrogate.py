import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize, stats
from scipy.spatial.distance import cdist
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

from seedwise.search.ranking import surrogate
from seedwise.search.ranking.surrogate import common_mean, condition, loss, matern, posterior


def smooth(generator, count, noise, coordinates=4):
    """A surface with one peak over the first two coordinates; noise in units of its spread, 1 to 4 replicates."""
    points = generator.random((count, coordinates))
    truth = np.sin(3 * points[:, 0]) - 2 * (points[:, 1] - 0.6) ** 2
    variance = (noise * truth.std()) ** 2 / generator.integers(1, 5, count)
    return points, truth, truth + np.sqrt(variance) * generator.standard_normal(count), variance


def unclipped(raw, variance):
    """Raw means as `common_mean` and `condition` take them, none low enough to be clipped."""
    return np.stack([raw, variance, raw, variance])


def error(estimate, truth):
    return float(np.mean((estimate - truth) ** 2))


# The common mean


def test_shrinkage_is_the_closed_form():
    """Equal variances and no kernel: towards the plain mean by variance / (variance + nugget), by hand."""
    raw, variance, nugget = np.array([1.0, 2.0, 6.0, 7.0]), 3.0, 1.0
    result = condition(np.zeros((4, 4)), nugget, unclipped(raw, np.full(4, variance)))
    np.testing.assert_allclose(result.mean, [3.25, 3.5, 4.5, 4.75])  # 4 + (raw - 4) / 4
    np.testing.assert_allclose(
        result.sd**2, 3 / 4 + (3 / 4) ** 2 * (3 + 1) / 4
    )  # its own variance, and that of the mean


def test_the_common_mean_is_the_integral_over_mean_and_spread():
    """Against a brute-force integral over the common mean and the spread between configurations."""
    raw, variance = np.array([0.2, 1.0, 1.5, 2.9, 0.8]), np.array([0.1, 0.4, 0.2, 0.9, 0.3])
    result, spread = common_mean(unclipped(raw, variance))
    wide = np.sqrt(raw.var() + 1 / np.mean(1 / variance))

    tau = wide * np.tan(np.linspace(0, np.pi / 2, 400)[:-1, None])  # rows: spreads; columns: common means around
    mean = raw.mean() + np.linspace(-1, 1, 161) * 8 * np.sqrt((tau**2 + 0.4) / 5)
    likelihood = stats.norm.pdf(raw, mean[..., None], np.sqrt(tau**2 + variance)[:, None]).prod(axis=-1)
    density = likelihood * stats.halfcauchy.pdf(tau, scale=wide)

    def integral(values):
        return integrate.trapezoid(integrate.trapezoid(values * density, x=mean, axis=1), x=tau[:, 0])

    total = integral(np.ones_like(density))
    assert spread == pytest.approx(integral(tau) / total, rel=0.02)
    for index in range(5):
        truth = (raw[index] * tau**2 + mean * variance[index]) / (tau**2 + variance[index])
        left = tau**2 * variance[index] / (tau**2 + variance[index])
        centre = integral(truth) / total
        assert result.mean[index] == pytest.approx(centre, rel=0.005)
        assert result.sd[index] == pytest.approx(np.sqrt(integral(truth**2 + left) / total - centre**2), rel=0.005)


def test_with_many_configurations_the_spread_is_estimated_well():
    generator = np.random.default_rng(3)
    variance = generator.uniform(0.5, 4, 2000)
    raw = 5 + 2 * generator.standard_normal(2000) + np.sqrt(variance) * generator.standard_normal(2000)
    result, spread = common_mean(unclipped(raw, variance))
    assert spread == pytest.approx(2, rel=0.05)
    np.testing.assert_allclose(result.mean, 5 + (raw - 5) * spread**2 / (spread**2 + variance), atol=0.1)


def test_equal_scores_leave_uncertainty_about_the_spread():
    """Two configurations with the same raw mean: the best guess of their spread is 0, but it need not be."""
    result = posterior(np.array([0.5, 0.5]), np.array([0.01, 0.01]))
    np.testing.assert_allclose(result.mean, 0.5)
    assert result.sd.min() > np.sqrt(0.01 / 2) * 1.1  # more than if both were known to be equal


# The surface


def test_the_posterior_is_that_of_scikit_learn():
    points, _, raw, variance = smooth(np.random.default_rng(0), 25, 0.5)
    unknown_mean = ConstantKernel(1e5, "fixed")
    kernel = ConstantKernel(0.7, "fixed") * Matern([0.3, 0.5, 1.0, 2.0], "fixed", nu=2.5) + unknown_mean
    theirs = GaussianProcessRegressor(kernel, alpha=variance, optimizer=None).fit(points, raw)
    mean, sd = theirs.predict(points, return_std=True)
    scaled = points / [0.3, 0.5, 1.0, 2.0]
    mine = condition(0.7 * matern(cdist(scaled, scaled)), 0.0, unclipped(raw, variance))
    np.testing.assert_allclose(mine.mean, mean, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(mine.sd, sd, rtol=1e-4)


def test_nugget_and_unknown_mean_are_those_of_the_joint_distribution():
    """An unknown mean is one more Gaussian variable with a prior so wide that it does not matter."""
    points, _, raw, variance = smooth(np.random.default_rng(1), 12, 0.5)
    kernel, nugget, wide = matern(cdist(points, points)), 0.3, 1e5
    prior = kernel + nugget * np.eye(12) + wide
    solved = np.linalg.solve(prior + np.diag(variance), np.column_stack([raw, prior]))
    result = condition(kernel, nugget, unclipped(raw, variance))
    np.testing.assert_allclose(result.mean, prior @ solved[:, 0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(result.sd**2, np.diag(prior - prior @ solved[:, 1:]), rtol=1e-4)


def arguments(generator, count=15, coordinates=3):
    points, _, raw, variance = smooth(generator, count, 0.5, coordinates)
    pairs = np.tril_indices(count, -1)
    return points, ((points[pairs[0]] - points[pairs[1]]).T ** 2, pairs, raw, variance)


@pytest.mark.parametrize("seed", range(4))
def test_the_gradient_is_the_slope_of_the_loss(seed):
    generator = np.random.default_rng(seed)
    _, rest = arguments(generator)
    theta = generator.normal(-0.5, 0.7, 5)
    numeric = optimize.approx_fprime(theta, lambda at: loss(at, *rest)[0], 1e-6)
    np.testing.assert_allclose(loss(theta, *rest)[1], numeric, rtol=1e-4, atol=1e-4)


def test_the_loss_is_the_likelihood_with_the_mean_integrated_out():
    generator = np.random.default_rng(0)
    points, rest = arguments(generator)
    raw, variance = rest[2:]

    def likelihood(theta):
        scaled = points / np.exp(theta[2:])
        covariance = np.exp(theta[0]) * matern(cdist(scaled, scaled)) + np.diag(np.exp(theta[1]) + variance)
        means = np.linspace(raw.mean() - 12, raw.mean() + 12, 2001)
        joint = stats.multivariate_normal(cov=covariance).logpdf(raw - means[:, None])
        return np.log(integrate.trapezoid(np.exp(joint - joint.max()), x=means)) + joint.max()

    first, second = generator.normal(-0.5, 0.5, (2, 5))
    difference = loss(first, *rest)[0] - loss(second, *rest)[0]
    assert difference == pytest.approx(likelihood(second) - likelihood(first), rel=1e-6)


@pytest.mark.parametrize(("count", "noise"), [(40, 0.5), (40, 1.0), (90, 1.0), (700, 1.0)])
def test_the_surface_beats_the_common_mean_and_that_the_raw_means(count, noise):
    errors = []
    for seed in range(6):
        points, truth, raw, variance = smooth(np.random.default_rng(seed), count, noise)
        estimates = (posterior(raw, variance, points).mean, posterior(raw, variance).mean, raw)
        best = np.argsort(-raw)[: min(count, 200)]  # where a search samples
        errors.append([error(estimate[best], truth[best]) for estimate in estimates])
    surface, common, none = np.mean(errors, axis=0)
    assert surface < 0.7 * common
    assert common < 0.95 * none


def test_without_structure_the_surface_does_little_harm():
    errors = []
    for seed in range(10):
        generator = np.random.default_rng(seed)
        truth, points = generator.standard_normal(50), generator.random((50, 5))
        raw = truth + 0.7 * generator.standard_normal(50)
        estimates = (posterior(raw, np.full(50, 0.49), points).mean, posterior(raw, np.full(50, 0.49)).mean)
        errors.append([error(estimate, truth) for estimate in estimates])
    surface, common = np.mean(errors, axis=0)
    assert surface < 1.15 * common


@pytest.mark.parametrize("surface", [False, True])
def test_intervals_cover_the_truth(surface):
    covered = []
    for seed in range(25):
        generator = np.random.default_rng(seed)
        points = generator.random((40, 3))
        factor = np.linalg.cholesky(matern(cdist(points, points) / 0.7) + 0.1 * np.eye(40))
        truth = 3 + factor @ generator.standard_normal(40)
        variance = 0.5 / generator.integers(1, 5, 40)
        raw = truth + np.sqrt(variance) * generator.standard_normal(40)
        result = posterior(raw, variance, points if surface else None)
        covered.append(np.abs(result.mean - truth) < 1.96 * result.sd)
    assert 0.9 < np.mean(covered) < 0.98


def test_collapsed_configurations_do_not_bend_the_surface():
    """A tenth of the configurations are far below all others: the posterior of the others stays as good."""
    ratios = []
    for seed in range(6):
        generator = np.random.default_rng(seed)
        points, truth, raw, variance = smooth(generator, 60, 0.7)
        collapsed = generator.permutation(60) < 6
        fallen = np.where(collapsed, raw - 30, raw)
        clean = posterior(raw, variance, points).mean
        result = posterior(fallen, variance, points).mean
        ratios.append(error(result[~collapsed], truth[~collapsed]) / error(clean[~collapsed], truth[~collapsed]))
        assert result[collapsed].max() < result[~collapsed].min() - 1  # they keep their own scores
    assert np.mean(ratios) < 1.6


def test_a_collapse_of_any_depth_is_like_no_result():
    """However low six of them fall, the posterior of the others is as without them."""
    points, _, raw, variance = smooth(np.random.default_rng(9), 60, 0.7)
    fallen = np.arange(60) < 6
    without = posterior(raw[~fallen], variance[~fallen], points[~fallen])
    for depth in (1e3, 1e6, 1e9):
        result = posterior(np.where(fallen, raw - depth, raw), variance, points)
        np.testing.assert_allclose(result.mean[~fallen], without.mean, atol=0.1 * raw[~fallen].std())
        np.testing.assert_allclose(result.sd[~fallen], without.sd, rtol=0.1)


def test_little_noise_gives_the_raw_mean_and_much_noise_the_surface():
    points, truth, raw, variance = smooth(np.random.default_rng(5), 50, 0.2)
    seventh = np.arange(50) == 7
    sure = posterior(raw, np.where(seventh, 1e-9, variance), points)
    assert sure.mean[7] == pytest.approx(raw[7], abs=1e-6)
    assert sure.sd[7] == pytest.approx(np.sqrt(1e-9), rel=1e-3)
    blind, second = (posterior(raw + up * seventh, np.where(seventh, 1e9, variance), points) for up in (0, 0.3))
    assert abs(blind.mean[7] - truth[7]) < 2.5 * blind.sd[7] < 2.5 * truth.std()
    assert second.mean[7] == pytest.approx(blind.mean[7], abs=0.02)


# Whatever comes


@pytest.mark.parametrize("count", [1, 2, 11, 12, 13, 60, 81, 501])
@pytest.mark.parametrize("scores", ["constant", "normal", "two", "tail"])
@pytest.mark.parametrize("where", ["none", "no coordinates", "one place", "duplicates", "many coordinates"])
def test_results_are_finite_without_warnings(count, scores, where):
    generator = np.random.default_rng(count)
    raw = {
        "constant": np.full(count, 0.1),
        "normal": generator.standard_normal(count),
        "two": np.arange(count) % 2.0,
        "tail": 0.9 - generator.exponential(size=count) ** 4,
    }[scores]
    points = {
        "none": None,
        "no coordinates": np.zeros((count, 0)),
        "one place": np.ones((count, 3)),
        "duplicates": np.repeat(generator.integers(0, 2, (count, 2)), 2, axis=1),
        "many coordinates": generator.random((count, 15)),
    }[where]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = posterior(raw, np.full(count, 1e-4), points)
    assert result.mean.shape == result.sd.shape == (count,)
    assert np.isfinite(result.mean).all()
    assert (result.sd > 0).all()
    assert scores == "tail" or (result.sd < 0.0101).all()  # never less certain than its own replicates
    if count == 1:
        assert result.mean[0] == pytest.approx(raw[0])
        assert result.sd[0] == pytest.approx(0.01)


def test_the_answer_is_the_same_bit_for_bit():
    points, _, raw, variance = smooth(np.random.default_rng(7), 120, 0.5)
    first, second = posterior(raw, variance, points), posterior(raw.copy(), variance.copy(), points.copy())
    np.testing.assert_array_equal(first.mean, second.mean)
    np.testing.assert_array_equal(first.sd, second.sd)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.01, 100), st.floats(-1000, 1000))
def test_units_and_offset_do_not_matter(seed, unit, offset):
    points, _, raw, variance = smooth(np.random.default_rng(seed), 20, 0.5)
    first = posterior(raw, variance, points)
    second = posterior(unit * raw + offset, unit**2 * variance, points)
    np.testing.assert_allclose((second.mean - offset) / unit, first.mean, atol=1e-3 * raw.std())
    np.testing.assert_allclose(second.sd / unit, first.sd, rtol=1e-3)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([5, 30]))
def test_a_higher_raw_mean_never_lowers_the_posterior_of_a_fixed_model(seed, count):
    generator = np.random.default_rng(seed)
    points, _, raw, variance = smooth(generator, count, 0.5)
    kernel = matern(cdist(points, points))
    index = generator.integers(count)
    higher = raw + 0.5 * (np.arange(count) == index)
    before, after = (condition(kernel, 0.1, unclipped(means, variance)) for means in (raw, higher))
    assert after.mean[index] >= before.mean[index]
    np.testing.assert_array_equal(after.sd, before.sd)


def test_the_sample_keeps_the_best_and_spreads_over_the_rest():
    ranked = np.arange(1000)[::-1]
    kept = surrogate._sample(ranked, 80)
    assert len(set(kept)) == 80
    np.testing.assert_array_equal(kept[:40], ranked[:40])
    assert kept[-1] == ranked[-1]
    assert np.ptp(np.diff(kept[40:])) <= 1
    np.testing.assert_array_equal(surrogate._sample(ranked[:80], 80), ranked[:80])
