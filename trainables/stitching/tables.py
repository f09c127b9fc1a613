"""The stitched tables F^s and F^t: every word as a weighted mean of the source vectors of its nearest anchors."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import embedding_bag, normalize

from seedwise.trainables.stitching.options import StitchingOptions
from seedwise.trainables.stitching.weightings import EPS, weights

BLOCK = 384  # rows per thread: the cosines of all words to all anchors are never in memory
TABLE_BLOCK = 2048  # rows per thread once their anchors are known
GROUP = 16  # anchors per group in the search for the nearest
ZERO = 1e-8  # a row shorter than this has no direction


@dataclass(frozen=True)
class Neighbours:
    """The k nearest anchors of every word, nearest first, equal cosines by anchor index: r and N_k of section 4."""

    similarity: Tensor  # words x k, float32: cosines, descending
    index: Tensor  # words x k, int32
    tied: Tensor  # words, bool: the cosines at rank k and k + 1 are equal, and the cut separates them
    zero: Tensor  # words, bool: no direction, all cosines are 0


@dataclass(frozen=True)
class Counts:
    """How many rows of a table needed a special rule, by rule."""

    rows: int  # all rows
    zero: int  # no direction
    negative: int  # standard: the printed denominator, the sum of the k similarities, is below zero
    vanishing: int  # standard: the denominator vanishes, so the weights are uniform
    ties: int  # the anchors at rank k and k + 1 are equally near; the lower index decides


def neighbours(words: Tensor, anchors: Tensor, k: int) -> Neighbours:
    """The k nearest anchors of every word, by cosine; all anchors if there are fewer than k.

    The first columns do not depend on k, so one search with the largest k serves all smaller k.
    """
    anchors, _ = _directions(anchors)
    k = min(k, len(anchors))
    depth = min(k + 1, len(anchors))  # one more rank shows whether the cut separates equal cosines
    n = len(words)
    nearest = Neighbours(
        torch.empty(n, k),
        torch.empty(n, k, dtype=torch.int32),
        torch.zeros(n, dtype=torch.bool),
        torch.empty(n, dtype=torch.bool),
    )

    def block(rows: slice) -> None:
        unit, nearest.zero[rows] = _directions(words[rows])
        similarity, index = map(torch.from_numpy, _nearest((unit @ anchors.T).numpy(), depth))
        nearest.similarity[rows], nearest.index[rows] = similarity[:, :k], index[:, :k]
        if depth > k:
            nearest.tied[rows] = similarity[:, k - 1] == similarity[:, k]

    _in_blocks(block, n, BLOCK)
    return nearest


def combine(nearest: Neighbours, source_anchors: Tensor, k: int, options: StitchingOptions) -> tuple[Tensor, Counts]:
    """F: every word as the weighted mean of the source vectors of its k nearest anchors.

    `source_anchors` has the anchors in the order that `neighbours` got. `nearest` may hold more than k neighbours
    without changing a bit of the table. Of the options, only the weighting and its parameters are read.
    """
    width = nearest.index.shape[1]
    k = min(k, width)
    table = torch.empty(len(nearest.index), source_anchors.shape[1])

    def block(rows: slice) -> tuple[int, int]:
        similarity, index = nearest.similarity[rows, :k].contiguous(), nearest.index[rows, :k]
        weight = weights(similarity, options)
        used = int(weight.any(0).nonzero().max()) + 1  # farther anchors have no weight in any of these rows
        index, weight = index[:, :used].contiguous(), weight[:, :used].contiguous()
        table[rows] = embedding_bag(index, source_anchors, per_sample_weights=weight, mode="sum")
        return _denominators(similarity, options)

    denominators = _in_blocks(block, len(table), TABLE_BLOCK)
    tied = nearest.tied if k == width else nearest.similarity[:, k - 1] == nearest.similarity[:, k]
    return table, _counts(nearest.zero, int(tied.sum()), denominators)


def stitch_all(
    words: Tensor, anchors: Tensor, source_anchors: Tensor, options: StitchingOptions
) -> tuple[Tensor, Counts]:
    """F from all anchors for every word: `combine` at k = number of anchors, without its words x anchors arrays."""
    anchors, _ = _directions(anchors)
    table = torch.empty(len(words), source_anchors.shape[1])
    zero = torch.empty(len(words), dtype=torch.bool)

    def block(rows: slice) -> tuple[int, int]:
        unit, zero[rows] = _directions(words[rows])
        similarity = unit @ anchors.T
        torch.mm(weights(similarity, options), source_anchors, out=table[rows])
        return _denominators(similarity, options)

    return table, _counts(zero, 0, _in_blocks(block, len(table), BLOCK))


def to_norm(table: Tensor, norm: float) -> Tensor:
    """Rows scaled to `norm`, since a mean of k vectors is shorter than these vectors. Rows of zeros stay zero."""
    return normalize(table, dim=1, eps=ZERO) * norm


def _nearest(cosine: np.ndarray, depth: int) -> tuple[np.ndarray, np.ndarray]:
    """The `depth` largest values of each row, descending, and their columns; equal values by column, ascending.

    This uses numpy, whose partition and sort are fast. The `depth`-th largest of the maxima of groups of columns is at
    most the `depth`-th largest of all, and hardly smaller. So few columns reach it, among them all columns of the
    result and all that tie with its last.
    """
    rows, columns = cosine.shape
    group = max(1, min(GROUP, columns // (2 * depth)))
    groups = columns // group
    maxima = cosine[:, : group * groups].reshape(rows, group, groups).max(1)
    cut = np.partition(maxima, groups - depth, axis=1)[:, groups - depth, None]
    reached = np.flatnonzero(cosine >= cut)
    row, column = np.divmod(reached, columns)
    # One sort of integers: row (9 bits), cosine from high to low (32 bits), column (22 bits). The bits of a float,
    # read as an integer, are in the order of the floats if it is positive, in the opposite order if it is negative.
    bits = (cosine.ravel()[reached] + np.float32(0)).view(np.int32).astype(np.int64)  # + 0: no -0
    falling = np.where(bits < 0, bits & 0x7FFFFFFF, ~bits) + (1 << 31)
    key = np.sort(row << 54 | falling << 22 | column)
    first = np.searchsorted(reached, np.arange(rows) * columns)
    index = (key[first[:, None] + np.arange(depth)] & ((1 << 22) - 1)).astype(np.int32)
    return np.take_along_axis(cosine, index, axis=1), index


def _directions(vectors: Tensor) -> tuple[Tensor, Tensor]:
    """The rows scaled to length 1, and which rows are too short to have a direction; short rows become 0."""
    norm = vectors.norm(dim=1, keepdim=True)
    if not norm.isfinite().all():
        raise ValueError("vectors with numbers that are not finite have no cosines")
    zero = norm < ZERO
    return vectors / torch.where(zero, torch.inf, norm), zero[:, 0]


def _denominators(similarity: Tensor, options: StitchingOptions) -> tuple[int, int]:
    """The numbers of rows with a negative and with a vanishing denominator."""
    if options.weighting != "standard":
        return 0, 0
    printed = similarity.sum(1)
    used = printed if options.negatives == "keep" else similarity.clamp_min(0).sum(1)
    return int((printed <= -EPS).sum()), int((used.abs() < EPS).sum())


def _counts(zero: Tensor, ties: int, denominators: list[tuple[int, int]]) -> Counts:
    negative, vanishing = np.sum(denominators, axis=0).tolist() if denominators else (0, 0)
    return Counts(len(zero), int(zero.sum()), negative, vanishing, ties)


def _in_blocks(work: Callable[[slice], object], rows: int, size: int) -> list:
    """Run `work` on every block of rows, on as many threads as torch has, each block on a single thread.

    One matrix product per thread is faster than one product on all threads: half of the search is in numpy, which uses
    one thread, and no thread has to wait for other threads after every step.
    """
    threads = torch.get_num_threads()
    try:
        with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            return list(pool.map(work, (slice(first, first + size) for first in range(0, rows, size))))
    finally:
        torch.set_num_threads(threads)  # the setting is the thread's own, but new threads inherit the latest
