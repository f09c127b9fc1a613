"""From the cosines of the k nearest anchors to the weights of their mean (MoSECroT, section 4)."""

import numpy as np
import torch
from entmax import entmax_bisect
from torch import Tensor

from seedwise.trainables.stitching.options import StitchingOptions

EPS = 1e-12  # a smaller denominator has vanished: its row gets uniform weights
SPARSE = ("sparsemax", "entmax")  # far anchors may have weights of exactly zero: farther anchors are then inert
MAX_STEPS = 50  # of Newton's method, which takes about five


def weights(similarity: Tensor, options: StitchingOptions) -> Tensor:
    """Weights that sum to one, for similarities (rows x anchors), by the options' weighting."""
    match options.weighting:
        case "standard":
            return standard(similarity, keep_negatives=options.negatives == "keep")
        case "softmax":
            return softmax(similarity, options.tau)
        case "sparsemax":
            return sparsemax(similarity, options.tau)
    return entmax(similarity, options.tau, options.exponent)


def standard(similarity: Tensor, *, keep_negatives: bool = False) -> Tensor:
    """Weights proportional to the similarities; the temperature of the printed formula cancels.

    Similarities below zero would make the denominator small or negative and the row explode, so they count as zero;
    `keep_negatives` leaves them, as printed. A row whose denominator vanishes is uniform.
    """
    parts = similarity if keep_negatives else similarity.clamp_min(0)
    total = parts.sum(-1, keepdim=True)
    return torch.where(total.abs() < EPS, 1 / parts.shape[-1], parts / total)


def softmax(similarity: Tensor, tau: float) -> Tensor:
    """exp(z / tau), normalised: one-hot as tau tends to 0, uniform as it grows."""
    return torch.softmax(similarity / tau, dim=-1)


def sparsemax(similarity: Tensor, tau: float) -> Tensor:
    """The point of the simplex nearest to z / tau: exact zeros, one-hot once the two best are tau apart.

    Anchors beyond the support change no bit of the weights, so that tables which must be equal have equal hashes.
    """
    return _on_the_simplex(similarity / tau, 1.0)


def entmax(similarity: Tensor, tau: float, exponent: float) -> Tensor:
    """Between softmax (exponent 1) and sparsemax (exponent 2), and beyond it.

    Weights (u - theta)_+^(1 / (exponent - 1)) of u = (exponent - 1) z / tau (Peters et al. 2019, equation 10).
    """
    if exponent > 2:  # no longer convex in theta; the number of anchors may change the last bit
        return entmax_bisect(similarity / tau, alpha=exponent, dim=-1)
    weights = _on_the_simplex(similarity * ((exponent - 1) / tau), 1 / (exponent - 1))
    return weights / weights.sum(-1, keepdim=True)


def _on_the_simplex(scaled: Tensor, power: float) -> Tensor:
    """(u - theta)_+^power, with the theta of every row for which these sum to 1.

    Shifting u shifts theta and changes no weight. If the largest u is 0, theta is at least -1 and every u below -1 has
    weight 0: columns without a larger u are skipped.
    """
    below = scaled - scaled.amax(-1, keepdim=True)
    needed = (below > -1).flatten(0, -2).any(0)
    near = below[..., needed]
    weights = torch.zeros_like(below)
    weights[..., needed] = (near - _threshold(near, power)).clamp_min(0) ** power
    return weights


def _threshold(below: Tensor, power: float) -> Tensor:
    """The theta of every row for which the sum of (u - theta)_+^power is 1; power at least 1.

    Jensen bounds it from below: for the j largest, theta >= mean - j^(-1 / power). The best of these bounds is theta
    itself if power is 1, the closed form of sparsemax. Otherwise Newton's method climbs from there: the sum is convex
    in theta, so no step goes too far. Sums run from the largest down, so that zeros at the end change no bit.
    """
    ordered = below
    if (below[..., :-1] < below[..., 1:]).any():  # neighbours come ordered
        ordered = torch.from_numpy(np.sort(below.numpy(), axis=-1)).flip(-1)  # many times faster than torch's own sort
    sizes = torch.arange(1, ordered.shape[-1] + 1, dtype=ordered.dtype)
    theta = (ordered.cumsum(-1) / sizes - sizes ** (-1 / power)).amax(-1, keepdim=True)
    for _ in range(MAX_STEPS if power > 1 else 0):
        over = (ordered - theta).clamp_min(0)
        slopes = over ** (power - 1)
        total, slope = (slopes * over).cumsum(-1)[..., -1:], slopes.cumsum(-1)[..., -1:]
        higher = torch.maximum(theta, theta + (total - 1) / (power * slope))
        if torch.equal(higher, theta):
            break
        theta = higher
    return theta
