"""The posterior of the true mean of every configuration, from its own replicates and from the other configurations.

The best of many raw means is the luckiest. Here raw means shrink towards what the other configurations predict, and
shrink more with fewer replicates: towards the common mean or, given points of the space, a smooth surface over them:

    truth_c = m + f(x_c) + d_c        raw_c = truth_c + N(0, variance_c)

f is a Gaussian process (Matern 5/2, one length scale per coordinate), d_c is the part specific to a configuration.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

FEWEST = 12  # configurations: with fewer, a surface would fit chance
LEARN = 80  # configurations to learn the hyperparameters from: each step of the optimiser costs their number cubed
NEAR = 500  # configurations that the surface is conditioned on; measured: 30 ms, against 100 ms for 1000
STEPS = 12  # of the optimiser; measured: more steps change the error of the posterior by less than a hundredth
TAIL = 4.5  # raw means are clipped this many upper half-spreads below the median (`_clipped`)
MAX_VARIANCE = 1e6  # of a mean, as a multiple of the variance of all means: more would be lost in rounding
TINY = np.finfo(float).tiny
QUANTILES = (np.arange(128) + 0.5) / 128

# Log-normal priors (median, sd of the logarithm), in units of the spread between configurations. Chosen by error and
# coverage on simulated surfaces of 12 to 60 configurations, with and without structure; results vary little with them.
AMPLITUDE = (1.0, 1.0)  # variance of f
NUGGET = (0.3, 1.0)  # variance of d
LENGTH = (0.7, 1.0)  # length scale over the square root of the number of coordinates, with which distances grow
STARTS = (0.5, 1.0, 2.0)  # start at the likeliest of these multiples of the prior's median length scale


@dataclass(frozen=True)
class Posterior:
    """Mean and standard deviation of the true mean of every configuration, in the order of the input."""

    mean: np.ndarray
    sd: np.ndarray


def posterior(raw: np.ndarray, variance: np.ndarray, points: np.ndarray | None = None) -> Posterior:
    """The posterior of all true means, from raw means (higher is better) and their sampling variances (above 0).

    `points` has a row of coordinates per configuration; without it, or with fewer than 12 configurations, means shrink
    towards the common mean only. Bad configurations are often extremely bad. So that they do not bend the surface near
    the good ones, a raw mean far below the median enters the surface as if it were at a floor, with a variance that
    grows with its distance (`_clipped`); its own posterior uses the raw mean. With more than 500 configurations, the
    surface uses the best and an even sample of the rest; all others shrink towards the common mean. The surface is
    the likeliest one, not an average over surfaces, so 95 % intervals cover some 90 to 95 %.
    """
    means = _clipped(np.array(raw, dtype=float), np.array(variance, dtype=float))
    shared, spread = common_mean(means)
    points = np.zeros((len(raw), 0)) if points is None else _informative(np.asarray(points, dtype=float))
    if len(raw) < FEWEST or not points.shape[1]:
        return shared

    ranked = np.argsort(-means[0], kind="stable")
    near, learn = _sample(ranked, NEAR), _sample(ranked, LEARN)
    *_, clipped, inflated = means.take(learn, axis=1)
    amplitude, nugget, lengths = _learn(points[learn], clipped / spread, inflated / spread**2)
    scaled = points[near] / lengths
    kernel = amplitude * spread**2 * matern(cdist(scaled, scaled))
    surface = condition(kernel, nugget * spread**2, means.take(near, axis=1))
    shared.mean[near], shared.sd[near] = surface.mean, surface.sd
    return shared


def common_mean(means: np.ndarray) -> tuple[Posterior, float]:
    """The means, shrunk towards their common mean, and the posterior mean of the sd between configurations.

    This integrates over the sd, by its restricted likelihood and a half-Cauchy prior as wide as the data: with few
    configurations its likeliest value is often 0, which would make all means equal. `_clipped` returns `means`.
    """
    raw, variance, clipped, inflated = means
    wide = np.sqrt(clipped.var() + 1 / np.mean(1 / inflated))
    spreads = wide * np.tan(np.pi / 2 * QUANTILES)  # even quantiles of the half-Cauchy
    between = spreads[:, None] ** 2
    weights = 1 / (between + inflated)
    total = weights.sum(axis=1, keepdims=True)
    mean = (weights @ clipped)[:, None] / total
    fit = np.log(weights).sum(axis=1) - np.log(total[:, 0]) - (weights * (clipped - mean) ** 2).sum(axis=1)
    share = np.exp((fit - fit.max()) / 2)
    share /= share.sum()
    pull = variance / (between + inflated)  # towards the common mean; small for very low means
    pulled = raw - pull * (raw - mean)
    variances = variance * (1 - pull) + pull**2 / total
    centre = share @ pulled
    sd = np.sqrt(share @ variances + share @ (pulled - centre) ** 2)
    return Posterior(centre, sd), float(share @ spreads)


def condition(kernel: np.ndarray, nugget: float, means: np.ndarray) -> Posterior:
    """The posterior of truth = m + N(0, kernel) + N(0, nugget) given raw = truth + N(0, variance), m being unknown.

    Each configuration combines the leave-one-out prediction from the clipped means of all others with its own raw mean.
    """
    raw, variance, clipped, inflated = means
    inverse, residual, rows, _ = _solve(kernel + np.diag(nugget + inflated), clipped - clipped.mean())
    own = np.maximum(np.diag(inverse) - rows**2 / rows.sum(), TINY)
    others, unsure = clipped - residual / own, np.maximum(1 / own - inflated, 0)  # leave-one-out mean and variance
    unsure = unsure + (inflated - variance)  # very low means do not shrink towards better ones
    gain = unsure / (unsure + variance)
    return Posterior(others + gain * (raw - others), np.sqrt(gain * variance))


def matern(distance: np.ndarray) -> np.ndarray:
    """The Matern 5/2 correlation at a `distance` in units of the length scale."""
    scaled = np.sqrt(5) * distance
    return (1 + scaled + scaled**2 / 3) * np.exp(-scaled)


def _clipped(raw: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Four rows: raw means, their variances, and the clipped means and variances that other configurations learn from.

    Clipping raises a raw mean below the floor to the floor, and adds its squared distance to the floor to its variance.
    The floor is TAIL times the upper half-spread (third quartile minus median, at least the noise) below the median.
    """
    clipped, inflated = raw, variance
    if len(raw) >= FEWEST:
        median, upper = np.quantile(raw, [0.5, 0.75])
        clipped = np.maximum(raw, median - TAIL * max(upper - median, np.sqrt(np.median(variance))))
        inflated = variance + (clipped - raw) ** 2
    limit = MAX_VARIANCE * (clipped.var() + np.median(variance))
    variance, inflated = np.minimum((variance, inflated), limit)
    return np.stack([raw, variance, clipped, inflated])


def _informative(points: np.ndarray) -> np.ndarray:
    """Drop coordinates that are constant or repeat another one: they cost time and say nothing."""
    points = points[:, np.ptp(points, axis=0) > 0]
    return points[:, np.sort(np.unique(points, axis=1, return_index=True)[1])]


def _sample(ranked: np.ndarray, count: int) -> np.ndarray:
    """Choose `count` of the `ranked`: half are the best, the other half is spread evenly over the remaining ranks."""
    if len(ranked) <= count:
        return ranked
    best, rest = np.split(ranked, [count // 2])
    return np.r_[best, rest[np.linspace(0, len(rest) - 1, count - count // 2).round().astype(int)]]


def _learn(points: np.ndarray, means: np.ndarray, variance: np.ndarray) -> tuple[float, float, np.ndarray]:
    """The variance of f, variance of d and length scales of highest posterior density, in units of the spread."""
    size = points.shape[1]
    centre = np.log(np.r_[AMPLITUDE[0], NUGGET[0], np.full(size, LENGTH[0] * np.sqrt(size))])
    width = np.r_[AMPLITUDE[1], NUGGET[1], np.full(size, LENGTH[1])]
    pairs = np.tril_indices(len(points), -1)
    squares = np.ascontiguousarray((points[pairs[0]] - points[pairs[1]]).T ** 2)  # coordinates x pairs

    def negative_density(theta: np.ndarray) -> tuple[float, np.ndarray]:
        fit, slope = loss(theta, squares, pairs, means, variance)
        offset = (theta - centre) / width
        return fit + offset @ offset / 2, slope + offset / width

    starts = [centre + np.r_[0, 0, np.full(size, np.log(length))] for length in STARTS]
    start = min(starts, key=lambda theta: negative_density(theta)[0])
    bounds, options = np.column_stack([centre - 4, centre + 4]), {"maxiter": STEPS, "ftol": 1e-5}
    result = minimize(negative_density, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    amplitude, nugget, *lengths = np.exp(result.x)
    return amplitude, nugget, np.array(lengths)


def loss(
    theta: np.ndarray,
    squares: np.ndarray,
    pairs: tuple[np.ndarray, np.ndarray],
    means: np.ndarray,
    variance: np.ndarray,
) -> tuple[float, np.ndarray]:
    """Minus the log likelihood of theta = log (amplitude, nugget, length scales), up to a constant, and its gradient.

    The mean is integrated out (restricted likelihood). `squares` has the squared differences, coordinates x `pairs`.
    """
    (amplitude, nugget), weights = np.exp(theta[:2]), np.exp(-2 * theta[2:])
    (first, second), centred = pairs, means - means.mean()
    flat = first * len(means) + second
    scaled = np.sqrt(5 * (weights @ squares))
    decay = amplitude * np.exp(-scaled)
    kernel = (1 + scaled + scaled**2 / 3) * decay
    covariance = np.diag(amplitude + nugget + variance)
    covariance.ravel()[flat] = kernel
    inverse, residual, rows, log_determinant = _solve(covariance, centred)
    total = rows.sum()
    fit = log_determinant + np.log(total) + centred @ residual
    slope = inverse.ravel()[flat] - residual[first] * residual[second] - rows[first] * (rows[second] / total)
    trace = np.trace(inverse) - residual @ residual - rows @ rows / total  # slope: of fit, by the covariance
    lengths = weights * (squares @ (slope * (1 + scaled) * decay)) * (5 / 3)
    return fit / 2, np.concatenate([[slope @ kernel + trace * amplitude / 2, trace * nugget / 2], lengths])


def _solve(covariance: np.ndarray, values: np.ndarray) -> tuple:
    """The inverse C of a covariance (lower triangles only), C (values - mean), C 1, and the log determinant.

    The mean is the generalised least squares mean.
    """
    factor, failed = dpotrf(covariance, lower=1)
    if failed:
        raise np.linalg.LinAlgError(f"the covariance is not positive definite (minor {failed})")
    residual, rows = dpotrs(factor, np.column_stack([values, np.ones(len(values))]), lower=1)[0].T
    residual = residual - rows * (residual.sum() / rows.sum())
    inverse = np.ascontiguousarray(dpotri(factor, lower=1)[0])
    return inverse, residual, rows, 2 * np.log(np.diag(factor)).sum()
