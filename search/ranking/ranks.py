"""Ranks, as scipy.stats has them: importing that takes a second, and every command would wait for it."""

from collections.abc import Sequence

import numpy as np


def ranks(values: Sequence[float]) -> np.ndarray:
    """The place of every value in their order, from 1; equal ones share the mean of theirs."""
    _, kinds, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = counts.cumsum()
    return (last - (counts - 1) / 2)[kinds]


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float:
    """Spearman's, of two sequences neither of which is constant."""
    return float(np.corrcoef(ranks(one), ranks(other))[0, 1])
