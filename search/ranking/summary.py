"""Mean, spread and interval over a few seeds. Intervals pool the variance and stay within the bounds of the score.

Two seeds say next to nothing about their spread: an interval by Student's t over two seeds can reach from below 0 to
above 1. So the seeds of the other configurations and baselines of the phase count too, as up to `POOLED_FREEDOM` more
degrees of freedom. docs/decisions.md gives the coverage of these intervals.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import stdtrit

from seedwise.trainables.methods import METHODS, spec_of
from seedwise.trainables.tasks.classification import METRICS

CONFIDENCE = 0.95
POOLED_FREEDOM = 10.0  # most degrees of freedom from other configurations; more would hide a noisy configuration
NO_BOUNDS = (-math.inf, math.inf)


@dataclass(frozen=True)
class Summary:
    """Mean and spread over replicates, and the 95 % interval of the mean. One replicate has only a mean."""

    n: int
    mean: float
    sd: float | None
    ci_low: float | None
    ci_high: float | None


@dataclass(frozen=True)
class Pool:
    """The spread over seeds within several groups: the sum of squares around their means, and its degrees of freedom.

    Groups of equal scores are left out: a deterministic baseline says nothing about seeds.
    """

    squares: float = 0.0
    freedom: int = 0

    @classmethod
    def of(cls, groups: Iterable[Sequence[float]]) -> "Pool":
        spreads = [(squares, len(group) - 1) for group in groups if (squares := squares_of(group)) > 0]
        return cls(math.fsum(squares for squares, _ in spreads), sum(freedom for _, freedom in spreads))

    def without(self, group: Sequence[float]) -> "Pool":
        """The pool of all groups but `group`, which must be in this pool."""
        squares = squares_of(group)
        return Pool(max(0.0, self.squares - squares), self.freedom - len(group) + 1) if squares > 0 else self


NO_POOL = Pool()


def summary(values: Sequence[float], others: Pool = NO_POOL, bounds: tuple[float, float] = NO_BOUNDS) -> Summary:
    """Summarise the scores of one configuration, one per replicate; the order does not matter.

    `others` is the spread of other configurations: without it, the interval is Student's t over these values alone.
    Others never make the variance smaller than the configuration's own. The interval is cut off at `bounds`, unless a
    value exceeds them.
    """
    n, mean = len(values), float(np.mean(values))
    if n < 2:
        return Summary(n, mean, None, None, None)
    own = squares_of(values)
    borrowed = min(POOLED_FREEDOM, others.freedom)
    freedom = n - 1 + borrowed
    pooled = (own + (borrowed * others.squares / others.freedom if borrowed else 0.0)) / freedom
    variance = max(pooled, own / (n - 1))
    half = quantile(freedom) * (variance / n) ** 0.5
    known = bounds if bounds[0] <= min(values) and max(values) <= bounds[1] else NO_BOUNDS
    return Summary(n, mean, (own / (n - 1)) ** 0.5, *within(known, mean - half, mean + half))


def within(bounds: tuple[float, float], low: float, high: float) -> tuple[float, float]:
    """Cut an interval off at the bounds. An interval that lies entirely beyond them is left as it is."""
    cut = max(bounds[0], low), min(bounds[1], high)
    return cut if cut[0] <= cut[1] else (low, high)


def bounds_of(name: str) -> tuple[float, float]:
    """The lowest and highest possible values of a metric such as `dev/macro_f1/fra_Latn`; infinite if unknown."""
    metric = name.split("/")[1] if name.count("/") == 2 else name
    if metric in METRICS or metric.startswith("share_of_"):
        return 0.0, 1.0
    known = [spec_of(method).metrics[metric] for method in METHODS if metric in spec_of(method).metrics]
    return known[0].bounds if known else NO_BOUNDS


def squares_of(values: Sequence[float]) -> float:
    """The sum of squared distances from the mean. It is exactly 0 for equal values, even if their mean is rounded."""
    return float(np.var(values) * len(values)) if len(values) > 1 and np.ptp(values) > 0 else 0.0


@lru_cache
def quantile(freedom: float) -> float:
    """Student's t quantile for a 95 % interval. It is cached: a live view needs the same few at every refresh."""
    return float(stdtrit(freedom, (1 + CONFIDENCE) / 2))
