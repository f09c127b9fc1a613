"""The stitched tables F^s and F^t: every word as a weighted mean of the source vectors of its nearest anchors."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag, normalize

BLOCK = 4096  # rows of the cosine table that exist at a time: it is never whole in memory
ZERO = 1e-8  # a row shorter than this has no direction


def neighbours(words: Tensor, anchors: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Cosines and indices of the k nearest anchors of every word, nearest first: r and N_k of section 4.

    Equal cosines are ordered by anchor index, also at the cut after rank k, so that the result does not depend on
    the order in which a partial sort happens to visit them. Rows of zeros have cosine 0 to everything.
    """
    anchors = normalize(anchors, dim=1, eps=ZERO)
    k = min(k, len(anchors))
    similarities, indices = [], []
    for block in words.split(BLOCK):
        cosine = normalize(block, dim=1, eps=ZERO) @ anchors.T
        value, index = cosine.topk(k, dim=1)
        cut = value[:, -1:]
        for row in torch.nonzero((cosine >= cut).sum(1) > k).flatten().tolist():  # a tie across the cut
            index[row] = torch.sort(cosine[row], descending=True, stable=True).indices[:k]
        index = index.sort(dim=1).values
        value, order = cosine.gather(1, index).sort(dim=1, descending=True, stable=True)
        similarities.append(value)
        indices.append(index.gather(1, order))
    return torch.cat(similarities), torch.cat(indices)


def stitch(words: Tensor, anchors: Tensor, source_anchors: Tensor, k: int, weigh: Callable[[Tensor], Tensor]) -> Tensor:
    """F: the weighted mean of the source vectors of the k anchors nearest to each word.

    `words` and `anchors` lie in one space (source or target), `source_anchors` are the same anchors in the source
    space, in the same order. For F^s the two are the same rows.
    """
    similarity, index = neighbours(words, anchors, k)
    # embedding_bag sums the weighted rows without a words x k x dimensions array in between
    return embedding_bag(index, source_anchors, per_sample_weights=weigh(similarity), mode="sum")


def to_norm(table: Tensor, norm: float) -> Tensor:
    """Rows scaled to `norm`; rows of zeros stay. A mean of k vectors is shorter than its members."""
    return normalize(table, dim=1, eps=ZERO) * norm
