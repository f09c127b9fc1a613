"""What the replicates of a configuration say about it: mean, spread, interval, and whether the best is really best."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import stats

CONFIDENCE = 0.95
DRAWS = 4000  # Monte Carlo draws behind P(best): its standard error is below 0.008


@dataclass(frozen=True)
class Summary:
    """Mean and spread over replicates. The interval is Student's t at 95 %; with one replicate there is none."""

    n: int
    mean: float
    sd: float | None
    ci_low: float | None
    ci_high: float | None


def summary(values: Sequence[float]) -> Summary:
    """Summarise the scores of one configuration, one per replicate; the order does not matter."""
    n, mean = len(values), float(np.mean(values))
    if n < 2:
        return Summary(n, mean, None, None, None)
    sd = float(np.std(values, ddof=1))
    half = _quantile(n - 1) * sd / n**0.5
    return Summary(n, mean, sd, mean - half, mean + half)


@lru_cache
def _quantile(freedom: int) -> float:
    """Of Student's t; a live view asks for the same few again and again."""
    return float(stats.t.ppf((1 + CONFIDENCE) / 2, freedom))


def tied(best: Mapping[int, float], other: Mapping[int, float]) -> bool:
    """Whether two configurations cannot be told apart: the 95 % interval of their paired difference holds zero.

    Only replicates that both have are compared. With fewer than two of them nothing can be told apart.
    """
    shared = sorted(best.keys() & other.keys())
    if len(shared) < 2:
        return True
    difference = summary([best[replicate] - other[replicate] for replicate in shared])
    return difference.ci_low <= 0 <= difference.ci_high


def p_best(scores: Sequence[Sequence[float]]) -> list[float]:
    """Probability that each configuration has the highest true mean, as Student t posteriors would have it.

    The spread is pooled over all configurations, since two or three seeds say little about one's own. With no two
    replicates anywhere there is no spread to speak of, and the answer is uniform over the configurations.
    """
    counts = np.array([len(values) for values in scores])
    freedom = int((counts - 1).sum())
    if freedom < 1:
        return [1 / len(scores)] * len(scores)
    means = np.array([np.mean(values) for values in scores])
    squares = sum(float(np.square(np.asarray(values) - mean).sum()) for values, mean in zip(scores, means, strict=True))
    scale = np.sqrt(squares / freedom / counts)
    draws = means + scale * np.random.default_rng(0).standard_t(freedom, size=(DRAWS, len(scores)))
    return (np.bincount(draws.argmax(axis=1), minlength=len(scores)) / DRAWS).tolist()
