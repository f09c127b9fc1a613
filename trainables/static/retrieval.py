"""Nearest neighbours between two tables of unit vectors, by cosine or by CSLS, in blocks of bounded memory.

CSLS (Conneau et al., ICLR 2018, section 2.3): csls(x, z) = 2 cos(x, z) - r(x) - r(z), where r, here the crowding of a
word, is its mean cosine to its k nearest neighbours in the other language. CSLS demotes hubs, near to everything.
"""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

CELLS = 1 << 24  # similarities in memory at a time: 64 MB


def unit(table: np.ndarray, device: str | torch.device = "cpu") -> Tensor:
    """The rows at length 1 in float32, on a device; rows of zeros stay zero, with cosine 0 to everything."""
    return normalize(torch.tensor(np.asarray(table, dtype=np.float32), device=device), dim=1)


def crowding(queries: Tensor, keys: Tensor, k: int) -> Tensor:
    """r of every query: the mean of its k highest cosines, or of all cosines if there are fewer keys."""
    return torch.cat([block.topk(min(k, len(keys)), dim=1).values for _, block in _blocks(queries, keys)]).mean(1)


def nearest(queries: Tensor, keys: Tensor, crowded: Tensor | float, depth: int) -> Tensor:
    """Indices of the `depth` best keys of every query, best first.

    By CSLS if `crowded` is the keys' crowding; by cosine if it is 0. The query's crowding does not affect the order.
    """
    best = [block.sub_(crowded / 2).topk(min(depth, len(keys)), dim=1).indices for _, block in _blocks(queries, keys)]
    return torch.cat(best)


def match(queries: Tensor, keys: Tensor, crowded: Tensor, ranks: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """A key for every query, and the query's k highest cosines, from the same products.

    The key is, by CSLS, the best for a query of rank 1, the second best for rank 2, and so on.
    """
    matched, cosines = [], []
    for rows, block in _blocks(queries, keys):
        cosines.append(block.topk(min(k, len(keys)), dim=1).values)
        rank = ranks[rows].clamp_max(len(keys))
        best = block.sub_(crowded / 2).topk(int(rank.max()), dim=1).indices
        matched.append(best.gather(1, rank[:, None] - 1)[:, 0])
    return torch.cat(matched), torch.cat(cosines)


def mutual_csls(first: Tensor, second: Tensor, k: int) -> float:
    """The mean CSLS of all pairs that are each other's best by CSLS; nan without such a pair."""
    first_crowding, second_crowding = crowding(first, second, k), crowding(second, first, k)
    forward = nearest(first, second, second_crowding, 1)[:, 0]
    backward = nearest(second, first, first_crowding, 1)[:, 0]
    rows = torch.nonzero(backward[forward] == torch.arange(len(first), device=first.device))[:, 0]
    partners = forward[rows]
    cosines = (first[rows] * second[partners]).sum(1)
    return float((2 * cosines - first_crowding[rows] - second_crowding[partners]).mean())


def _blocks(queries: Tensor, keys: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """The cosines of some queries to all keys, block by block; a block may be overwritten."""
    size = max(1, CELLS // len(keys))
    for first in range(0, max(1, len(queries)), size):  # without queries: one empty block
        rows = slice(first, first + size)
        yield rows, queries[rows] @ keys.T
