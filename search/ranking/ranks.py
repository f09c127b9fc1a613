"""Ranks as in scipy.stats, whose import would delay every command by a second."""

from collections.abc import Sequence

import numpy as np


def ranks(values: Sequence[float]) -> np.ndarray:
    """The rank of every value, from 1; equal values share the mean of their ranks."""
    _, index, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (counts.cumsum() - (counts - 1) / 2)[index]


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """Spearman's rank correlation of two sequences, neither of which may be constant."""
    return float(np.corrcoef(ranks(first), ranks(second))[0, 1])
