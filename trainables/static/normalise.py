"""Normalisation of a table of word vectors by named steps (Artetxe et al., AAAI 2018, step 0)."""

from collections.abc import Iterable

import numpy as np


def normalise(table: np.ndarray, steps: Iterable[str]) -> np.ndarray:
    """The table after all `steps`, in order, as a new float32 array.

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
