"""Losses between encodings of words and their static vectors, and the correlation of both on held-out words.

Rows are words; the views may differ in width. The paper's correlation loss is here as its released code computes it
(`reference_loss`) and corrected (`correlation_loss`). The textbook's loss has no gradient for N = 1024 words in 768 +
768 dimensions: the views have more dimensions than words, so 512 correlations are 1 whatever the encoder does. The
corrected loss therefore compares few directions of each view.
"""

import math
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor
from torch.linalg import cholesky, qr, solve_triangular, svd, svdvals

FLOOR = 1e-8  # added to every variance, so that no variance is zero; far below the variances of an encoder's states
ROUNDS = 4  # of subspace iteration
DRAWS = 64  # of the simulated chance level: its standard error is then below 0.003 from 64 words on
SEED = 0  # of subspace iteration and simulation, which are therefore deterministic


def correlation_loss(contextual: Tensor, static: Tensor, *, top_k: int, directions: int, ridge: float) -> Tensor:
    """Minus the mean of the `top_k` largest correlations, on a scale where chance is 0 and perfect agreement is -1.

    In-sample correlations of independent views are far from zero, more so with fewer words. As the chance level is
    subtracted, values at different N, `top_k` or `directions` are comparable. For `directions` and `ridge` see
    `correlations`. Encodings that are not finite give nan.
    """
    expected = chance(len(contextual), directions, top_k)
    top = correlations(contextual, static, directions=directions, ridge=ridge)[:top_k]
    return -(top.mean() - expected) / (1 - expected)


def correlations(contextual: Tensor, static: Tensor, *, directions: int, ridge: float) -> Tensor:
    """Canonical correlations, largest first, within the `directions` (p) of most variance of each view.

    They are the singular values of T = L_h^-1 S_hy L_y^-T, where L L^T are the views' covariances; the textbook's T has
    symmetric square roots for L, and the same singular values. `ridge` is added to the variances, as a share of their
    mean: a larger ridge discounts directions of little variance. Directions are constants to the gradient: their own
    gradient has a term 1/gap for neighbouring variances, which explodes if two variances are nearly equal.
    """
    if not finite(contextual, static):
        return (contextual.sum() * math.nan).expand(directions)
    scores = [projected(view, principal(view, directions)) for view in (contextual, static)]
    return svdvals(coupling(*scores, ridge)[0]).clamp_max(1)


def finite(*views: Tensor) -> bool:
    return all(bool(view.isfinite().all()) for view in views)


def wide(view: Tensor) -> Tensor:
    """The view in float32 or wider: half precision has no matrix decompositions and too few digits."""
    return view.to(torch.promote_types(view.dtype, torch.float32))


def centred(view: Tensor) -> Tensor:
    return wide(view) - wide(view).mean(0)


@torch.no_grad()
def principal(view: Tensor, directions: int) -> Tensor:
    """The directions of most variance, as orthonormal columns, without a gradient.

    Subspace iteration costs a fraction of a full decomposition. If variances are nearly equal it does not converge, but
    the directions it returns are then equally good.
    """
    view, draw = centred(view), torch.Generator().manual_seed(SEED)
    basis = torch.randn(view.shape[1], directions, generator=draw).to(view)
    with torch.autocast(view.device.type, enabled=False):
        for _ in range(ROUNDS):
            basis = qr(view.T @ (view @ basis)).Q
    return basis


def projected(view: Tensor, basis: Tensor) -> Tensor:
    """Scores (N, p), cheaply in float64: a small ridge is then enough. Autocast does not affect the scores."""
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
    return chance_correlations(words, directions)[:top_k].mean().item()


@cache
def chance_correlations(words: int, directions: int) -> Tensor:
    """The mean correlations of independent views, largest first, simulated.

    Centred scores of a view span a uniformly random subspace of p of N - 1 dimensions. So the correlations are the
    cosines of the angles between a random subspace and the first p coordinates. A ridge lowers them slightly.
    """
    draw = torch.Generator().manual_seed(SEED)
    spaces = (qr(torch.randn(words - 1, directions, generator=draw, dtype=torch.float64)).Q for _ in range(DRAWS))
    return torch.stack([svdvals(space[:directions]) for space in spaces]).mean(0)


@dataclass(frozen=True)
class Directions:
    """Correlated directions of both views, best first: projections (width, top_k)."""

    contextual: Tensor
    static: Tensor

    @torch.no_grad()
    def measure(self, contextual: Tensor, static: Tensor) -> float:
        """The mean Pearson correlation of all pairs of directions on these words; on held-out words, chance is 0."""
        first, second = centred(contextual).double() @ self.contextual, centred(static).double() @ self.static
        return torch.cosine_similarity(first, second, dim=0).mean().item()


@torch.no_grad()
def fit(contextual: Tensor, static: Tensor, *, directions: int, top_k: int, ridge: float) -> Directions:
    """The `top_k` pairs of directions that correlate best on these words, as in `correlations`."""
    views = (contextual, static)
    if not finite(*views):
        return Directions(*(view.new_full((view.shape[1], top_k), math.nan).double() for view in views))
    bases = [principal(view, directions) for view in views]
    scores = [projected(view, basis) for view, basis in zip(views, bases, strict=True)]
    coupled, *factors = coupling(*scores, ridge)
    first, _, second = svd(coupled)
    projections = [
        basis.double() @ solve_triangular(cholesky_factor.T, vectors[:, :top_k], upper=True)
        for basis, cholesky_factor, vectors in zip(bases, factors, (first, second.T), strict=True)
    ]
    return Directions(*projections)


def mse_loss(contextual: Tensor, static: Tensor) -> Tensor:
    """The mean squared difference over words and dimensions; both views must have the same width."""
    return (wide(contextual) - wide(static)).square().mean()


def reference_loss(contextual: Tensor, static: Tensor, *, top_k: int = 10) -> Tensor:
    """The correlation loss as released: minus the sum of sqrt(1 + rho) over the views' `top_k` principal subspaces.

    For comparison. Its gradient grows like 1/gap between variances number `top_k` and `top_k` + 1, and is nan for a
    batch of one repeated word. Its value depends on the number of words (independent views: -11.58 with 64, -10.39 with
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
    """Subtract means of rows, tiled through the matrix: the mean of row (i d + j) mod N from entry (i, j)."""
    return wide(view) - wide(view).mean(1).repeat(view.shape[1]).view(view.shape)
