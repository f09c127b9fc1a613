"""The difference of two samples of scores, and whether seeds alone could explain it."""

from dataclasses import dataclass
from statistics import fmean, variance

from seedwise.search.ranking.summary import NO_BOUNDS, quantile, summary, within
from seedwise.text import number

ROUNDING = 1e-12  # relative to the scores: 0.8 - 0.7 and 0.7 - 0.6 are the same difference


@dataclass(frozen=True)
class Statement:
    """A comparison of two sides by one score: `difference` is first minus second, with its 95 % interval.

    `n` counts the replicates behind each mean; `paired` sides have the same replicates. If there is no verdict,
    `because` gives the reason and there is no interval; with fewer than two seeds there is no difference either.
    """

    first: str
    second: str
    on: str
    n: tuple[int, int]
    paired: bool
    failed: int = 0
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    because: str = ""

    @property
    def verdict(self) -> str:
        if self.because:
            return "unknown"
        if self.low > 0 or self.high < 0:
            return "better" if self.low > 0 else "worse"
        return "cannot be told apart"

    def in_words(self) -> str:
        where = f" on {self.on}" if self.on else ""
        unknown = f"{self.first} and {self.second} cannot be compared{where}, since {self.because}"
        if self.difference is None:
            return unknown
        seeds = f"{self.n[0]} shared seeds, paired" if self.paired else f"{self.n[0]} and {self.n[1]} seeds, not paired"
        seeds += f"; {self.failed} failed, counted as the worst score" if self.failed else ""
        if self.because:
            return f"{unknown}: {self.difference:+.3f} ({seeds})"
        if self.verdict == "cannot be told apart":
            ends = f"{self.difference:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"
            return f"{self.first} and {self.second} cannot be told apart{where}: {ends} ({seeds})"
        low, high = sorted((abs(self.low), abs(self.high)))
        by = f"{number(abs(self.difference))} [{number(low)}, {number(high)}]"
        return f"{self.first} is {self.verdict} than {self.second} by {by}{where} ({seeds})"


def statement(
    first: str,
    second: str,
    on: str,
    scores: dict[int, float],
    others: dict[int, float],
    *,
    paired: bool,
    failed: int,
    bounds: tuple[float, float] = NO_BOUNDS,
) -> Statement:
    """Compare two sides by their scores by replicate. `paired` sides must have the same replicates.

    Scores within `bounds` cannot differ by more than these, and so neither can the interval.
    """
    n = (len(scores), len(others))
    known = (first, second, on, n, paired, failed)
    if min(n) < 2:
        few = f"{n[0]} in common" if paired else f"{n[0]} and {n[1]}"
        return Statement(*known, because=f"a spread needs two seeds, but they have {few}")
    if paired:
        paired_scores = summary([scores[replicate] - others[replicate] for replicate in scores])
        difference, low, high = paired_scores.mean, paired_scores.ci_low, paired_scores.ci_high
    else:
        difference, low, high = _welch(list(scores.values()), list(others.values()))
    low, high = within((bounds[0] - bounds[1], bounds[1] - bounds[0]), low, high)
    rounding = ROUNDING * max(map(abs, (*scores.values(), *others.values())))
    if high - low > rounding:
        return Statement(*known, difference, low, high)
    if abs(difference) > rounding:  # however small, an interval of width zero would exclude it
        return Statement(*known, difference, because="the seeds show no spread")
    return Statement(*known, 0.0, 0.0, 0.0)


def _welch(first: list[float], second: list[float]) -> tuple[float, float, float]:
    """The difference of two means and the ends of its interval; the variances may differ (Welch 1947)."""
    parts = [variance(side) / len(side) for side in (first, second)]
    difference, total = fmean(first) - fmean(second), sum(parts)
    if total == 0:
        return difference, difference, difference
    shares = [part / total for part in parts]  # before squaring, which would underflow
    freedom = 1 / sum(share**2 / (len(side) - 1) for share, side in zip(shares, (first, second), strict=True))
    half = quantile(freedom) * total**0.5
    return difference, difference - half, difference + half
