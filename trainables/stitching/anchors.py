"""The bilingual anchors of one language pair: which pairs, how many of them, and whether source words repeat."""

import numpy as np


def choose(pairs: np.ndarray, amount: int | float | str, seed: int) -> np.ndarray:
    """The first column of `pairs` is a source piece, the second a target row; keep `amount` of them, in their order.

    `amount` is all, a number, or a share below 1. The draw depends on `seed` alone, so that a replicate uses the same
    anchors whatever else a configuration does; more than there are means all, and then the seed is inert.
    """
    if amount == "all":
        return pairs
    count = max(1, round(amount * len(pairs))) if isinstance(amount, float) else amount
    if count >= len(pairs):
        return pairs
    return pairs[np.sort(np.random.default_rng(seed).permutation(len(pairs))[:count])]


def merge(pairs: np.ndarray, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One anchor per source piece: the pieces, and the mean of the unit vectors of all their translations."""
    pieces, group = np.unique(pairs[:, 0], return_inverse=True)
    units = vectors[pairs[:, 1]]
    units = units / np.maximum(np.linalg.norm(units, axis=1, keepdims=True), 1e-8)
    merged = np.zeros((len(pieces), vectors.shape[1]), dtype=vectors.dtype)
    np.add.at(merged, group, units)
    return pieces, merged / np.bincount(group)[:, None].astype(vectors.dtype)
