"""The targets of EAR as formulas over tensors (equations 1 to 5 of the paper), with a value per pair of sentences.

x is a sentence, x^a its copy with synonyms. All formulas take both streams, whatever encoder they come from.
"""

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

SMALLEST = 1e-9  # smallest divisor, as in the released code


def pooled(states: Tensor, mask: Tensor) -> Tensor:
    """M(E): the mean over a sentence's tokens, special tokens included, no padding. (B, L, d), (B, L) -> (B, d)."""
    weights = mask.to(states.dtype)[..., None]
    return (states * weights).sum(1) / weights.sum(1).clamp_min(SMALLEST)


def distance(first: Tensor, second: Tensor, reduction: str) -> Tensor:
    """Squared distance of vectors (B, d), sum or mean over the dimensions: equation 1's square, and SRPT."""
    squares = (first - second).square()
    return squares.sum(-1) if reduction == "sum" else squares.mean(-1)


def push(first: Tensor, second: Tensor, reduction: str, cap: float = 0.0) -> Tensor:
    """Embedding-push, equation 1: minus the squared distance of the mean embeddings. It is unbounded below.

    With a `cap` (squared distance per dimension, 0 for none) pairs beyond the cap gain nothing and have no gradient.
    """
    apart = distance(first, second, reduction)
    if not cap:
        return -apart
    return -apart.clamp_max(cap * (first.shape[-1] if reduction == "sum" else 1))


def pull(first: Tensor, second: Tensor, cells: Tensor, reduction: str) -> Tensor:
    """Attention-pull, equation 2: the squared difference of two attention maps, a mean over the heads.

    Maps are (B, H, M, M). The sum or mean is over the `cells` (B, M, M) that count.
    """
    squares = (first - second).square() * cells[:, None]
    total = squares.sum((-1, -2)).mean(1)
    return total if reduction == "sum" else total / cells.sum((-1, -2)).clamp_min(1)


def robust(first: Tensor, second: Tensor, labels: Tensor) -> Tensor:
    """The robust target, equation 4: the cross entropies of both streams. Logits are (B, classes)."""
    return cross_entropy(first, labels, reduction="none") + cross_entropy(second, labels, reduction="none")


def over_words(attention: Tensor, words: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Attention between words instead of pieces, and a mask of the words that exist.

    `attention` is (B, H, L, L); `words` (B, L) is the word, of `count`, that each token belongs to, -1 for padding. The
    attention from a word is the mean over its pieces, to a word the sum over them, so rows keep their sum of 1.
    """
    belongs = (words[:, None] == torch.arange(count, device=words.device)[:, None]).to(attention.dtype)  # (B, W, L)
    pieces = belongs.sum(-1)
    to_words = attention @ belongs.transpose(1, 2)[:, None]
    return (belongs / pieces.clamp_min(1)[..., None])[:, None] @ to_words, pieces > 0


def over_tokens(attention: Tensor, mask: Tensor) -> Tensor:
    """Attention between tokens, zero in rows and columns of padding."""
    real = mask.to(attention.dtype)
    return attention * (real[:, None, :, None] * real[:, None, None, :])


def squared(present: Tensor) -> Tensor:
    """The mask of the cells of a map that count, from the mask of its rows: (B, M) -> (B, M, M)."""
    return present[:, :, None] & present[:, None, :]
