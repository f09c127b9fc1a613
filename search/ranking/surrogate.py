"""What is known of the true mean of every configuration, from its own replicates and from the other configurations.

The best of many raw means is the luckiest. Here a raw mean is drawn towards what the others say, the more the fewer
replicates it has: towards the common mean, or, with points of the space, towards a smooth surface over them:

    truth_c = m + f(x_c) + d_c        raw_c = truth_c + N(0, variance_c)

f is a Gaussian process (Matern 5/2, one length scale per coordinate), d_c is what a configuration has for itself.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

FEWEST = 12  # configurations with a result, below which a surface is too easily imagined
LEARN = 80  # configurations that the surface is learned on; every step of the optimiser costs their number cubed
NEAR = 500  # configurations that make the surface and hear of it; measured: 30 ms, against 100 ms for 1000
STEPS = 12  # of the optimiser; measured: more of them change the error of the posterior by less than a hundredth
TAIL = 4.5  # how many upper half-spreads below the median a raw mean counts in full for others (`_heard`)
BLIND = 1e6  # variance of a raw mean that says nothing, as a multiple of that of all: more would be lost in rounding
TINY = np.finfo(float).tiny
QUANTILES = (np.arange(128) + 0.5) / 128

# Log-normal priors (median, sd of the logarithm), in units of the spread between configurations. Chosen by error and
# coverage on simulated surfaces of 12 to 60 configurations, with and without structure; no figure is delicate.
AMPLITUDE = (1.0, 1.0)  # variance of f
NUGGET = (0.3, 1.0)  # variance of d
LENGTH = (0.7, 1.0)  # length scale times the square root of the number of coordinates, as distances grow with it
STARTS = (0.5, 1.0, 2.0)  # length scales to start from, as multiples of the prior's median: the likeliest is taken


@dataclass(frozen=True)
class Posterior:
    """Mean and standard deviation of the true mean of every configuration, in the order they were given."""

    mean: np.ndarray
    sd: np.ndarray


def posterior(raw: np.ndarray, variance: np.ndarray, points: np.ndarray | None = None) -> Posterior:
    """The posterior of all true means, from raw means (higher is better) and their sampling variances (above 0).

    A raw mean that is not finite is a configuration without a result: it gets what the others say of it. `points` has a
    row of coordinates per configuration; without it, or with fewer than 12 results, only the common mean is shared. Bad
    configurations are often far worse than good ones are good. So that they do not bend the surface where it matters,
    the others hear of a raw mean far below the median as of one at a floor, the less surely the further down it is
    (`_heard`); the configuration itself keeps its own. Of more than 500 configurations, the best and an even sample of
    the rest make the surface; those left out are drawn towards the common mean. The surface is the likeliest one, not
    an average over surfaces, so intervals of 95 % cover some 90 to 95 %.
    """
    raw, variance = np.array(raw, dtype=float), np.array(variance, dtype=float)
    known = np.isfinite(raw) & np.isfinite(variance)
    if not known.any():
        return Posterior(np.full(len(raw), np.nan), np.full(len(raw), np.inf))
    raw[~known], variance[~known] = np.median(raw[known]), np.inf
    told, doubt = _heard(raw, variance, known)
    blind = BLIND * (told[known].var() + np.median(variance[known]))
    variance, doubt = np.minimum(variance, blind), np.minimum(doubt, blind)
    shared, spread = common_mean(raw, variance, (told, doubt))
    points = np.zeros((len(raw), 0)) if points is None else _informative(np.asarray(points, dtype=float))
    if known.sum() < FEWEST or not points.shape[1]:
        return shared

    ranked = np.argsort(np.where(known, -raw, -np.inf), kind="stable")  # without a result first: they need it most
    near, learn = _sample(ranked, NEAR), _sample(ranked[(~known).sum() :], LEARN)
    amplitude, nugget, lengths = _learn(points[learn], told[learn] / spread, doubt[learn] / spread**2)
    scaled = points[near] / lengths
    kernel = amplitude * spread**2 * matern(cdist(scaled, scaled))
    surface = condition(kernel, nugget * spread**2, raw[near], variance[near], heard=(told[near], doubt[near]))
    shared.mean[near], shared.sd[near] = surface.mean, surface.sd
    return shared


def common_mean(
    raw: np.ndarray, variance: np.ndarray, heard: tuple[np.ndarray, np.ndarray] | None = None
) -> tuple[Posterior, float]:
    """Shrinkage towards the common mean, and the typical spread between configurations (posterior mean of its sd).

    The spread is integrated over, from its restricted likelihood and a half-Cauchy prior as wide as the data. Its
    likeliest value is often 0 with few configurations, and then all would be equal for certain. `heard` is what the
    others hear instead of `raw` and `variance`, if not the same.
    """
    told, doubt = heard or (raw, variance)
    wide = np.sqrt(told.var() + 1 / np.mean(1 / doubt))
    spreads = wide * np.tan(np.pi / 2 * QUANTILES)  # even quantiles of the half-Cauchy
    between = spreads[:, None] ** 2
    weights = 1 / (between + doubt)
    total = weights.sum(axis=1, keepdims=True)
    mean = (weights @ told)[:, None] / total
    fit = np.log(weights).sum(axis=1) - np.log(total[:, 0]) - (weights * (told - mean) ** 2).sum(axis=1)
    share = np.exp((fit - fit.max()) / 2)
    share /= share.sum()
    pull = variance / (between + doubt)  # towards the common mean; what lies far below the others is not of their kind
    means = raw - pull * (raw - mean)
    variances = variance * (1 - pull) + pull**2 / total
    centre = share @ means
    sd = np.sqrt(share @ variances + share @ (means - centre) ** 2)
    return Posterior(centre, sd), float(share @ spreads)


def condition(
    kernel: np.ndarray,
    nugget: float,
    raw: np.ndarray,
    variance: np.ndarray,
    mean: float | None = None,
    heard: tuple[np.ndarray, np.ndarray] | None = None,
) -> Posterior:
    """The posterior of truth = mean + N(0, kernel) + N(0, nugget) given raw = truth + N(0, variance).

    Without `mean` it is unknown (a flat prior), and its uncertainty is in the sd. From `heard` (see
    `common_mean`) comes what the others say of a configuration, and to that its own raw mean is added.
    """
    told, doubt = heard or (raw, variance)
    centred = told - (told.mean() if mean is None else mean)
    inverse, residual, rows, _ = _solve(kernel + np.diag(nugget + doubt), centred, known=mean is not None)
    own = np.maximum(np.diag(inverse) - (rows**2 / rows.sum() if mean is None else 0), TINY)
    others, unsure = told - residual / own, np.maximum(1 / own - doubt, 0)  # leave-one-out mean and variance
    unsure = unsure + (doubt - variance)  # what lies far below the others is not drawn towards them
    gain = unsure / (unsure + variance)
    return Posterior(others + gain * (raw - others), np.sqrt(gain * variance))


def matern(distance: np.ndarray) -> np.ndarray:
    """The Matern 5/2 correlation at a distance in length scales."""
    scaled = np.sqrt(5) * distance
    return (1 + scaled + scaled**2 / 3) * np.exp(-scaled)


def _heard(raw: np.ndarray, variance: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What the others hear of each raw mean, and its variance: below the floor the floor, with the rest as doubt.

    The floor is TAIL times the upper half-spread (third quartile minus median, at least the noise) below the median.
    """
    if known.sum() < FEWEST:
        return raw, variance
    median, upper = np.quantile(raw[known], [0.5, 0.75])
    told = np.maximum(raw, median - TAIL * max(upper - median, np.sqrt(np.median(variance[known]))))
    return told, variance + (told - raw) ** 2


def _informative(points: np.ndarray) -> np.ndarray:
    """Without coordinates that are constant or repeat another: they cost time and say nothing."""
    points = points[:, np.ptp(points, axis=0) > 0]
    return points[:, np.sort(np.unique(points, axis=1, return_index=True)[1])]


def _sample(ranked: np.ndarray, count: int) -> np.ndarray:
    """`count` of them: the first half is the best, the other half lies evenly over the remaining ranks."""
    if len(ranked) <= count:
        return ranked
    best, rest = np.split(ranked, [count // 2])
    return np.r_[best, rest[np.linspace(0, len(rest) - 1, count - count // 2).round().astype(int)]]


def _learn(points: np.ndarray, told: np.ndarray, variance: np.ndarray) -> tuple[float, float, np.ndarray]:
    """Variance of f, variance of d and length scales of highest posterior density, in units of the spread."""
    size = points.shape[1]
    centre = np.log(np.r_[AMPLITUDE[0], NUGGET[0], np.full(size, LENGTH[0] * np.sqrt(size))])
    width = np.r_[AMPLITUDE[1], NUGGET[1], np.full(size, LENGTH[1])]
    pairs = np.tril_indices(len(points), -1)
    squares = np.ascontiguousarray((points[pairs[0]] - points[pairs[1]]).T ** 2)  # coordinates x pairs

    def negative_density(theta: np.ndarray) -> tuple[float, np.ndarray]:
        fit, slope = loss(theta, squares, pairs, told, variance)
        offset = (theta - centre) / width
        return fit + offset @ offset / 2, slope + offset / width

    starts = [centre + np.r_[0, 0, np.full(size, np.log(length))] for length in STARTS]
    start = min(starts, key=lambda theta: negative_density(theta)[0])
    bounds, options = np.column_stack([centre - 4, centre + 4]), {"maxiter": STEPS, "ftol": 1e-5}
    found = minimize(negative_density, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    amplitude, nugget, *lengths = np.exp(found.x)
    return amplitude, nugget, np.array(lengths)


def loss(
    theta: np.ndarray, squares: np.ndarray, pairs: tuple[np.ndarray, np.ndarray], told: np.ndarray, variance: np.ndarray
) -> tuple[float, np.ndarray]:
    """Minus the log likelihood of theta = log (amplitude, nugget, length scales), up to a constant, and its gradient.

    The mean is integrated out (restricted likelihood). `squares` are squared differences, coordinates x `pairs`.
    """
    (amplitude, nugget), weights = np.exp(theta[:2]), np.exp(-2 * theta[2:])
    (one, other), told = pairs, told - told.mean()
    flat = one * len(told) + other
    scaled = np.sqrt(5 * (weights @ squares))
    decay = amplitude * np.exp(-scaled)
    kernel = (1 + scaled + scaled**2 / 3) * decay
    covariance = np.diag(amplitude + nugget + variance)
    covariance.ravel()[flat] = kernel
    inverse, residual, rows, log_determinant = _solve(covariance, told)
    total = rows.sum()
    fit = log_determinant + np.log(total) + told @ residual
    slope = inverse.ravel()[flat] - residual[one] * residual[other] - rows[one] * (rows[other] / total)
    trace = np.trace(inverse) - residual @ residual - rows @ rows / total  # slope: of fit, by the covariance
    lengths = weights * (squares @ (slope * (1 + scaled) * decay)) * (5 / 3)
    return fit / 2, np.concatenate([[slope @ kernel + trace * amplitude / 2, trace * nugget / 2], lengths])


def _solve(covariance: np.ndarray, values: np.ndarray, known: bool = False) -> tuple:
    """The inverse C of a covariance (lower triangles only), C (values - mean), C 1, and the log determinant.

    The mean is that of generalised least squares, or 0 if it is `known` to be.
    """
    factor, failed = dpotrf(covariance, lower=1)
    if failed:
        raise np.linalg.LinAlgError(f"the covariance is not positive definite (minor {failed})")
    residual, rows = dpotrs(factor, np.column_stack([values, np.ones(len(values))]), lower=1)[0].T
    if not known:
        residual = residual - rows * (residual.sum() / rows.sum())
    inverse = np.ascontiguousarray(dpotri(factor, lower=1)[0])
    return inverse, residual, rows, 2 * np.log(np.diag(factor)).sum()
