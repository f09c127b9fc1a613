"""Which words become targets, and which are drawn against them."""

import numpy as np


def kept_share(counts: np.ndarray, threshold: float) -> np.ndarray:
    """The share of each word's occurrences that become targets: min(1, sqrt(t/f) + t/f), f = count / sum of counts.

    It is word2vec's and X2Static's, the frequency taken among the words of the vocabulary. Threshold 0: all of them.
    """
    if not threshold:
        return np.ones(len(counts))
    ratio = threshold * counts.sum() / counts
    return np.minimum(1.0, np.sqrt(ratio) + ratio)


class Negatives:
    """Draws rows of the vocabulary with probability ~ sqrt(count). A word may meet itself, as in X2Static's code."""

    def __init__(self, counts: np.ndarray) -> None:
        self._bounds = np.cumsum(np.sqrt(counts))

    def draw(self, shape: tuple[int, ...], random: np.random.Generator) -> np.ndarray:
        found = np.searchsorted(self._bounds, random.random(shape) * self._bounds[-1], side="right")
        return np.minimum(found, len(self._bounds) - 1)  # a product that was rounded up to the last bound
