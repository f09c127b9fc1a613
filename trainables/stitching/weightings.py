"""From the cosines of the k nearest anchors to the weights of their mean (MoSECroT, section 4)."""

from collections.abc import Callable

import torch
from entmax import entmax_bisect
from entmax import sparsemax as entmax_sparsemax
from torch import Tensor

EPS = 1e-12


def standard(similarity: Tensor) -> Tensor:
    """Weights proportional to the similarities.

    The temperature of the printed formula cancels, so there is none here. Similarities below zero would make the
    denominator small or negative and the row explode; they count as zero. A row without a positive one is uniform.
    """
    positive = similarity.clamp_min(0)
    total = positive.sum(-1, keepdim=True)
    uniform = torch.full_like(positive, 1 / positive.shape[-1])
    return torch.where(total > EPS, positive / total.clamp_min(EPS), uniform)


def softmax(similarity: Tensor, tau: float) -> Tensor:
    """exp(z / tau), normalised: one-hot as tau tends to 0, uniform as it grows."""
    return torch.softmax(similarity / tau, dim=-1)


def sparsemax(similarity: Tensor, tau: float) -> Tensor:
    """The point of the simplex nearest to z / tau: exact zeros, one-hot once the two best are tau apart."""
    return entmax_sparsemax(similarity / tau, dim=-1)


def entmax(similarity: Tensor, tau: float, exponent: float) -> Tensor:
    """Between softmax (exponent 1) and sparsemax (exponent 2)."""
    return entmax_bisect(similarity / tau, alpha=exponent, dim=-1)


def weighting(name: str, *, tau: float, exponent: float) -> Callable[[Tensor], Tensor]:
    """The weighting of that name, with what it needs of the temperature and the exponent."""
    return {
        "standard": standard,
        "softmax": lambda similarity: softmax(similarity, tau),
        "sparsemax": lambda similarity: sparsemax(similarity, tau),
        "entmax": lambda similarity: entmax(similarity, tau, exponent),
    }[name]
