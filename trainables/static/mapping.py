"""Linear maps of one language's vectors into the space of another, from the rows of a dictionary (VecMap).

Artetxe et al., AAAI 2018, steps 0 to 5: normalise, whiten, map orthogonally, re-weight, de-whiten, reduce dimensions.
There both languages move, so the English vectors would differ for each language aligned with English. Here the fixed
language is not re-weighted. Its whitening and de-whitening then leave a rotation V, and V^T takes the moving language
back to the fixed language's original space, which any number of languages can share. To re-weight the fixed side and
undo it by the inverse of its map would divide the moving side by weights near 0, in the very directions in which the
languages have nothing in common.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

RANK = 1e-6  # singular values below this share of the largest are rounding: float32 has no more digits


@dataclass(frozen=True)
class Preset:
    """A published choice of the steps before and around the orthogonal map."""

    normalise: tuple[str, ...]  # of both sides, each by its own statistics
    whiten: bool  # without it the map is orthogonal and the rest has no effect
    reweight: float = 0.0  # the moving side is multiplied by singular values s to this power; 0: by nothing


PRESETS = {
    "orthogonal": Preset(("unit", "centre", "unit"), whiten=False),
    # VecMap's recommendation for large dictionaries; there the fixed side is re-weighted by s^0.5, too.
    "supervised": Preset(("unit", "centre", "unit"), whiten=True, reweight=0.5),
    # The AAAI paper's system; its target side, the only one that is re-weighted, is the moving language here.
    "aaai2018": Preset(("unit", "centre"), whiten=True, reweight=1.0),
}


def normalise(table: np.ndarray, steps: Iterable[str]) -> np.ndarray:
    """Step 0: apply all `steps`, in order, to a table of word vectors. Returns a new float32 array.

    A row of zeros is a word without a vector: it stays zero and counts in no mean.
    """
    table = np.array(table, dtype=np.float32)
    present = table.any(axis=1)
    rows = table[present]
    for step in steps:
        rows = STEPS[step](rows)
    table[present] = rows
    return table


def _unit(table: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(table, axis=1, keepdims=True)
    return table / np.where(lengths > 0, lengths, 1)


def _centre(table: np.ndarray) -> np.ndarray:
    return table - table.mean(axis=0, dtype=np.float64).astype(np.float32) if len(table) else table


STEPS = {
    "unit": _unit,  # every row to length 1: dot products are cosines
    "centre": _centre,  # every dimension to mean 0: unrelated words get a cosine of 0
}


def fit(moving: np.ndarray, fixed: np.ndarray, preset: Preset, dimensions: int = 0) -> np.ndarray:
    """W (d_moving x d_fixed), in float64, from the normalised vectors of a dictionary's pairs, row by row.

    The map is linear and applies to the whole table of the moving language. `dimensions` (0: all) keeps only as many
    directions, the best by agreement of the pairs; the mapped table stays as wide as the fixed table.
    """
    moving, fixed = moving.astype(np.float64), fixed.astype(np.float64)
    if not preset.whiten:
        return orthogonal(moving.T @ fixed, dimensions)
    whiten, undo = whitening(moving)
    left, values, right = np.linalg.svd(whiten @ (moving.T @ fixed) @ whitening(fixed)[0], full_matrices=False)
    reweighted = whiten @ (left * values**preset.reweight)
    dewhitened = reweighted @ (left.T @ undo @ left)
    kept = dimensions or len(values)
    return dewhitened[:, :kept] @ right[:kept]


def orthogonal(covariance: np.ndarray, dimensions: int = 0) -> np.ndarray:
    """argmin |X W - Z|_F over orthogonal W, from X^T Z (Schönemann 1966).

    If the sides differ in dimensions, W has orthonormal columns or rows and maximises the sum of the dot products of
    the pairs.
    """
    left, values, right = np.linalg.svd(covariance, full_matrices=False)
    kept = dimensions or len(values)
    return left[:, :kept] @ right[:kept]


def whitening(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(X^T X)^(-1/2), which turns rows X into rows with X^T X = 1, and its inverse (X^T X)^(1/2).

    Directions without rows (fewer rows than dimensions) become 0 in both.
    """
    _, values, axes = np.linalg.svd(rows, full_matrices=False)
    known = values > RANK * values.max(initial=0)
    values, axes = values[known], axes[known]
    return (axes.T / values) @ axes, (axes.T * values) @ axes
