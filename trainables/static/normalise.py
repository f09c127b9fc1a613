"""Normalisation of a table of word vectors, one named step after the other (Artetxe et al., AAAI 2018, step 0)."""

from collections.abc import Iterable

import numpy as np


def normalise(table: np.ndarray, steps: Iterable[str]) -> np.ndarray:
    """The table after all `steps`, in order, as a new float32 array. Without steps it is a copy.

    A row of zeros is a word without a vector: it stays zero and counts in no mean.
    """
    table = np.array(table, dtype=np.float32)
    present = table.any(axis=1)
    table[present] = _through(table[present], steps)
    return table


def _through(table: np.ndarray, steps: Iterable[str]) -> np.ndarray:
    for step in steps:
        table = STEPS[step](table)
    return table


def _unit(table: np.ndarray) -> np.ndarray:
    return table / _divisor(np.linalg.norm(table, axis=1, keepdims=True))


def _centre(table: np.ndarray) -> np.ndarray:
    return table - table.mean(axis=0, dtype=np.float64).astype(np.float32) if len(table) else table


def _unit_dimension(table: np.ndarray) -> np.ndarray:
    return table / _divisor(np.sqrt(np.sum(np.square(table), axis=0, dtype=np.float64)).astype(np.float32))


def _divisor(length: np.ndarray) -> np.ndarray:
    """A length to divide by: what has none stays as it is."""
    return np.where(length > 0, length, 1)


STEPS = {
    "unit": _unit,  # every row to length 1: dot products are cosines
    "centre": _centre,  # every dimension to mean 0: unrelated words get a cosine of 0
    "unit_dimension": _unit_dimension,  # every dimension to length 1: all weigh the same in a dot product
}
