"""Losses between encodings of words and their static vectors, and how well the two agree on other words.

Rows are words; the views may differ in width. The paper's correlation loss comes in two forms: as its released code
computes it (`reference_loss`), and mended (`correlation_loss`). The textbook's has no gradient for N = 1024 words in
768 + 768 dimensions: as the views have more dimensions than there are words, 512 correlations are 1 whatever the
encoder does. So the mended loss compares few directions of each view.
"""

import math
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor
from torch.linalg import cholesky, qr, solve_triangular, svd, svdvals

from seedwise.trainables.dcca.options import WORDS_PER_DIRECTION

FLOOR = 1e-8  # added to every variance, so that a constant batch has one; far below that of any encoder's states
ROUNDS = 4  # of the search for the directions of most variance
DRAWS = 64  # of the simulated chance level, whose standard error is then below 0.003 from 64 words on
SEED = 0  # of both; what they give is a function of its arguments


def correlation_loss(contextual: Tensor, static: Tensor, *, top_k: int, directions: int, ridge: float) -> Tensor:
    """Minus the mean of the `top_k` largest correlations, on a scale where chance is 0 and perfect agreement is -1.

    In-sample correlations of independent views are far from zero, the more so the fewer words there are; with the
    level of chance taken out, values at other N, `top_k` or `directions` can be compared. For `directions` and `ridge`
    see `correlations`. Encodings that are not finite give a loss that is not a number.
    """
    expected = chance(len(contextual), directions, top_k)
    found = correlations(contextual, static, directions=directions, ridge=ridge)
    return -(found[:top_k].mean() - expected) / (1 - expected)


def correlations(contextual: Tensor, static: Tensor, *, directions: int, ridge: float) -> Tensor:
    """Canonical correlations, largest first, within the `directions` (p) of most variance of each view.

    They are the singular values of T = L_h^-1 S_hy L_y^-T, where L L^T are the views' covariances: those of the
    textbook's T, which has symmetric square roots for L. `ridge` is added to the variances, as a share of their mean:
    more of it discounts directions of little variance. The directions are taken as given when gradients are computed;
    their own gradient has a term 1/gap for neighbouring variances, which explodes where two are alike.
    """
    check_sizes(len(contextual), min(contextual.shape[1], static.shape[1]), directions)
    if not finite(contextual, static):
        return (contextual.sum() * math.nan).expand(directions)
    scores = [projected(view, principal(view, directions)) for view in (contextual, static)]
    return svdvals(coupling(*scores, ridge)[0]).clamp_max(1)


def check_sizes(words: int, width: int, directions: int, top_k: int = 1) -> None:
    """Refuse what the correlations mean nothing for: `width` is that of the narrower view."""
    if not 1 <= top_k <= directions:
        raise ValueError(f"the top {top_k} of {directions} directions: use 1 to {directions}")
    if directions > width:
        raise ValueError(f"{directions} directions of vectors with {width} dimensions: use {width} or fewer")
    if words < WORDS_PER_DIRECTION * directions:
        most = words // WORDS_PER_DIRECTION
        raise ValueError(f"{directions} directions of {words} words: use {most} or fewer, or more words at a time")


def finite(*views: Tensor) -> bool:
    return all(bool(view.isfinite().all()) for view in views)


def wide(view: Tensor) -> Tensor:
    """In float32 at least: half precision has no decompositions, and too few digits."""
    return view.to(torch.promote_types(view.dtype, torch.float32))


def centred(view: Tensor) -> Tensor:
    return wide(view) - wide(view).mean(0)


@torch.no_grad()
def principal(view: Tensor, directions: int) -> Tensor:
    """The directions of most variance, as orthonormal columns, without a gradient.

    By subspace iteration, for a fraction of the cost of a full decomposition. Where variances are nearly equal it has
    not converged; the directions are then others, and as good.
    """
    view, draw = centred(view), torch.Generator().manual_seed(SEED)
    basis = torch.randn(view.shape[1], directions, generator=draw).to(view)
    with torch.autocast(view.device.type, enabled=False):
        for _ in range(ROUNDS):
            basis = qr(view.T @ (view @ basis)).Q
    return basis


def projected(view: Tensor, basis: Tensor) -> Tensor:
    """Scores (N, p), in float64: from here on it costs nothing, a small ridge is enough, and autocast does no harm."""
    with torch.autocast(view.device.type, enabled=False):
        return (centred(view) @ basis).double()


def coupling(contextual: Tensor, static: Tensor, ridge: float) -> tuple[Tensor, Tensor, Tensor]:
    """T of `correlations`, from the scores of both views, and the factors L_h and L_y."""
    left, right = factor(contextual, ridge), factor(static, ridge)
    half = solve_triangular(left, contextual.T @ static / (len(static) - 1), upper=False)
    return solve_triangular(right, half.T, upper=False).T, left, right


def factor(scores: Tensor, ridge: float) -> Tensor:
    covariance = scores.T @ scores / (len(scores) - 1)
    added = ridge * covariance.diagonal().mean() + FLOOR
    return cholesky(covariance + added * torch.eye(len(covariance), dtype=scores.dtype, device=scores.device))


def chance(words: int, directions: int, top_k: int) -> float:
    """The mean of the `top_k` largest in-sample correlations of two independent Gaussian views."""
    check_sizes(words, directions, directions, top_k)
    return by_chance(words, directions)[:top_k].mean().item()


@cache
def by_chance(words: int, directions: int) -> Tensor:
    """The mean correlations of independent views, largest first, simulated.

    Centred scores of a view span p of N - 1 dimensions, and any p are alike: so the correlations are the cosines of
    the angles between a random subspace and a fixed one, the first p coordinates. With a ridge they are a bit lower.
    """
    draw = torch.Generator().manual_seed(SEED)
    spaces = (qr(torch.randn(words - 1, directions, generator=draw, dtype=torch.float64)).Q for _ in range(DRAWS))
    return torch.stack([svdvals(space[:directions]) for space in spaces]).mean(0)


@dataclass(frozen=True)
class Directions:
    """Directions of both views that correlate, best first: projections (width, top_k)."""

    contextual: Tensor
    static: Tensor

    @torch.no_grad()
    def measure(self, contextual: Tensor, static: Tensor) -> float:
        """The mean of their Pearson correlations on these words; by chance 0, if they were not fitted on them."""
        first, second = centred(contextual).double() @ self.contextual, centred(static).double() @ self.static
        return torch.cosine_similarity(first, second, dim=0).mean().item()


@torch.no_grad()
def fit(contextual: Tensor, static: Tensor, *, directions: int, top_k: int, ridge: float) -> Directions:
    """The `top_k` pairs of directions that correlate best on these words, as in `correlations`."""
    views = (contextual, static)
    check_sizes(len(contextual), min(view.shape[1] for view in views), directions, top_k)
    if not finite(*views):
        return Directions(*(view.new_full((view.shape[1], top_k), math.nan).double() for view in views))
    bases = [principal(view, directions) for view in views]
    scores = [projected(view, basis) for view, basis in zip(views, bases, strict=True)]
    coupled, *factors = coupling(*scores, ridge)
    first, _, second = svd(coupled)
    found = [
        basis.double() @ solve_triangular(one.T, vectors[:, :top_k], upper=True)
        for basis, one, vectors in zip(bases, factors, (first, second.T), strict=True)
    ]
    return Directions(*found)


def mse_loss(contextual: Tensor, static: Tensor) -> Tensor:
    """The mean over words and dimensions of the squared difference; the views must have the same width."""
    if contextual.shape != static.shape:
        raise ValueError(f"encodings of shape {tuple(contextual.shape)}, static vectors of {tuple(static.shape)}")
    return (wide(contextual) - wide(static)).square().mean()


def reference_loss(contextual: Tensor, static: Tensor, *, top_k: int = 10) -> Tensor:
    """The correlation loss as released: minus the sum of sqrt(1 + rho) over the views' `top_k` principal subspaces.

    For comparison. Its gradient grows like 1/gap between variances number `top_k` and `top_k` + 1, up to no number for
    a batch of one word repeated; its value depends on the number of words (independent views: -11.58 of 64, -10.39 of
    1024) and is constant once `top_k` reaches that number.
    """
    if not finite(contextual, static):
        return contextual.sum() * math.nan
    kept = []
    for view in (contextual, static):
        left, values, _ = svd(centred_as_released(view), full_matrices=False)
        squares = values[:top_k].square()
        kept.append(left[:, :top_k] * (squares / (squares + 1e-8)).sqrt())
    return -svdvals(torch.cat(kept, 1))[:top_k].sum()


def centred_as_released(view: Tensor) -> Tensor:
    """Means of rows, tiled through the matrix: entry (i, j) loses the mean of row (i d + j) mod N."""
    return wide(view) - wide(view).mean(1).repeat(view.shape[1]).view(view.shape)
