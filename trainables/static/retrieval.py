"""Nearest neighbours between two tables of unit vectors, by cosine or by CSLS, in blocks of bounded memory.

CSLS (Conneau et al., ICLR 2018, section 2.3): csls(x, z) = 2 cos(x, z) - r(x) - r(z), where r, here the crowding of a
word, is its mean cosine to its k nearest neighbours in the other language. It demotes hubs, near to everything.
"""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

CELLS = 1 << 24  # similarities in memory at a time: 64 MB


def unit(table: np.ndarray, device: str | torch.device = "cpu") -> Tensor:
    """The rows at length 1 in float32, on a device; rows of zeros stay and have cosine 0 to everything."""
    return normalize(torch.tensor(np.asarray(table, dtype=np.float32), device=device), dim=1)


def highest(queries: Tensor, keys: Tensor, k: int) -> Tensor:
    """The k highest cosines of every query, highest first: (queries, k). Fewer where there are fewer keys."""
    return torch.cat([block.topk(min(k, len(keys)), dim=1).values for _, block in _blocks(queries, keys)])


def crowding(queries: Tensor, keys: Tensor, k: int) -> Tensor:
    """r of every query: the mean of its k highest cosines."""
    return highest(queries, keys, k).mean(1)


def nearest(queries: Tensor, keys: Tensor, crowded: Tensor | float, depth: int) -> Tensor:
    """Indices of the `depth` best keys of every query, best first.

    By CSLS where `crowded` is the keys' crowding; by cosine where it is 0. The query's own crowding changes no order.
    """
    found = []
    for _, block in _blocks(queries, keys):
        found.append(block.sub_(crowded / 2).topk(min(depth, len(keys)), dim=1).indices)
    return torch.cat(found)


def match(queries: Tensor, keys: Tensor, crowded: Tensor, ranks: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """One key for every query, and the query's k highest cosines, from the same products.

    The key is, by CSLS, the best for a query of rank 1, the second best for rank 2, and so on.
    """
    keys_of, cosines = [], []
    for rows, block in _blocks(queries, keys):
        cosines.append(block.topk(min(k, len(keys)), dim=1).values)
        rank = ranks[rows].clamp_max(len(keys))
        best = block.sub_(crowded / 2).topk(int(rank.max()), dim=1).indices
        keys_of.append(best.gather(1, rank[:, None] - 1)[:, 0])
    return torch.cat(keys_of), torch.cat(cosines)


def mutual_csls(first: Tensor, second: Tensor, k: int) -> float:
    """The mean CSLS of all pairs that are each other's best by CSLS; nan where there is none."""
    of_first, of_second = crowding(first, second, k), crowding(second, first, k)
    there = nearest(first, second, of_second, 1)[:, 0]
    back = nearest(second, first, of_first, 1)[:, 0]
    mutual = torch.nonzero(back[there] == torch.arange(len(first), device=first.device))[:, 0]
    other = there[mutual]
    return float((2 * (first[mutual] * second[other]).sum(1) - of_first[mutual] - of_second[other]).mean())


def _blocks(queries: Tensor, keys: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """The cosines of some queries to all keys, block by block; a block may be overwritten."""
    size = max(1, CELLS // len(keys))
    for first in range(0, max(1, len(queries)), size):  # without queries: one empty block
        rows = slice(first, first + size)
        yield rows, queries[rows] @ keys.T
