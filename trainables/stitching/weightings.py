"""Turns the cosines of the k nearest anchors into the weights of their mean (MoSECroT, section 4)."""

import torch
from entmax import entmax15, entmax_bisect, sparsemax
from torch import Tensor
from torch.nn.functional import pad

from seedwise.trainables.stitching.options import StitchingOptions

EPS = 1e-12  # a smaller denominator has vanished: its row gets uniform weights
SPARSE = ("sparsemax", "entmax")  # far anchors may have weights of exactly zero: farther anchors are then inert
EXACT = {1.5: entmax15, 2.0: sparsemax}  # exponents whose threshold is found by sorting instead of bisection
LARGEST = 64  # columns that these functions sort first, for speed; for rows with more weights they sort more columns
WIDTH = 64  # columns of the first bisection; a multiple of what a processor adds at once
STEPS = 30  # of the bisection: halvings of an interval of at most 1, in similarities of 24 bits


def weights(similarity: Tensor, options: StitchingOptions) -> Tensor:
    """Weights that sum to one, for similarities (rows x anchors), by the options' weighting."""
    match options.weighting:
        case "standard":
            return standard(similarity, keep_negatives=options.negatives == "keep")
        case "softmax":
            return softmax(similarity, options.tau)
        case "sparsemax":
            return entmax(similarity, options.tau, 2.0)
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


def entmax(similarity: Tensor, tau: float, exponent: float) -> Tensor:
    """Weights (u - theta)_+^(1 / (exponent - 1)) of u = (exponent - 1) z / tau (Peters et al. 2019, equation 10).

    Softmax as the exponent tends to 1. Sparsemax at 2: the point of the simplex nearest to z / tau, one-hot once the
    two best are tau apart. Sparser beyond 2: there the power is below 1, so a rounding error of u near theta becomes a
    weight of up to eps^power, 2e-4 at 3. Anchors of weight 0 change no bit of the other weights, so tables that must be
    equal have equal hashes.
    """
    below = (similarity - similarity.amax(-1, keepdim=True)) / tau
    if exponent in EXACT:
        return EXACT[exponent](below, dim=-1, k=LARGEST)
    return _by_bisection(below, exponent)


def _by_bisection(below: Tensor, exponent: float) -> Tensor:
    """`entmax_bisect` of the first 64, 128, ... columns, until the last column has no weight in any row.

    Its last bits depend on the number of columns, through its first bound and the order of its sums. With 20 and with
    200 columns at exponent 1.5, bits differed in 3 to 37 % of the rows that have at most 20 weights (cosines of French
    vectors and of word pieces, random numbers), and one such row changes the hash of a table. Here k does not matter:
    every k that holds all weights ends at the same width, with -inf in columns beyond k.
    """
    columns = below.shape[-1]
    ordered = bool((below[..., :-1] >= below[..., 1:]).all())  # as neighbours are; otherwise weights may be anywhere
    width = WIDTH if ordered else max(WIDTH, columns)
    while True:
        near = pad(below, (0, width - columns), value=-torch.inf)  # a negative number of columns is cut off
        weights = entmax_bisect(near, alpha=exponent, dim=-1, n_iter=STEPS)
        if width >= columns or not weights[..., -1].any():
            return pad(weights, (0, columns - width))
        width *= 2
