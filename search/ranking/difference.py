"""Two samples of scores: how much higher the first is, and whether seeds alone could do that."""

from dataclasses import dataclass
from statistics import fmean, variance

from seedwise.search.ranking.estimate import quantile, summary
from seedwise.text import number

ROUNDING = 1e-12  # relative to the scores: 0.8 - 0.7 and 0.7 - 0.6 are the same difference


@dataclass(frozen=True)
class Statement:
    """One pair on one score: `difference` is how much higher the first is, with its 95 % interval.

    `n` are the replicates behind either mean; where they are `paired` these are the same ones. Where it cannot be said
    whether one is better, `because` says why, and there is no interval; with fewer than two seeds no difference either.
    """

    one: str
    other: str
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
            return "cannot be said"
        if self.low > 0 or self.high < 0:
            return "better" if self.low > 0 else "worse"
        return "cannot be told apart"

    def in_words(self) -> str:
        where = f" on {self.on}" if self.on else ""
        unsaid = f"{self.one} or {self.other}{where}: cannot be said, {self.because}"
        if self.difference is None:
            return unsaid
        seeds = f"{self.n[0]} shared seeds, paired" if self.paired else f"{self.n[0]} and {self.n[1]} seeds, not paired"
        seeds += f"; {self.failed} failed, counted as the lowest score" if self.failed else ""
        if self.because:
            return f"{unsaid}: {self.difference:+.3f} ({seeds})"
        if self.verdict == "cannot be told apart":
            ends = f"{self.difference:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"
            return f"{self.one} and {self.other} cannot be told apart{where}: {ends} ({seeds})"
        low, high = sorted((abs(self.low), abs(self.high)))
        by = f"{number(abs(self.difference))} [{number(low)}, {number(high)}]"
        return f"{self.one} is {self.verdict} than {self.other} by {by}{where} ({seeds})"


def statement(
    one: str, other: str, on: str, first: dict[int, float], second: dict[int, float], *, paired: bool, failed: int = 0
) -> Statement:
    """What scores by replicate say; where they are `paired`, both sides must have the same replicates."""
    n = (len(first), len(second))
    said = (one, other, on, n, paired, failed)
    if min(n) < 2:
        few = f"{n[0]} shared" if paired else f"{n[0]} and {n[1]}"
        return Statement(*said, because=f"there are {few} seeds, and one seed has no spread")
    if paired:
        found = summary([first[replicate] - second[replicate] for replicate in first])
        difference, low, high = found.mean, found.ci_low, found.ci_high
    else:
        difference, low, high = _welch(list(first.values()), list(second.values()))
    rounding = ROUNDING * max(map(abs, (*first.values(), *second.values())))
    if high - low > rounding:
        return Statement(*said, difference, low, high)
    if abs(difference) > rounding:  # however small, it would lie outside of an interval without width
        return Statement(*said, difference, because="the seeds show no spread")
    return Statement(*said, 0.0, 0.0, 0.0)


def _welch(first: list[float], second: list[float]) -> tuple[float, float, float]:
    """The difference of two means and its ends, each side with its own variance (Welch 1947)."""
    parts = [variance(side) / len(side) for side in (first, second)]
    difference, total = fmean(first) - fmean(second), sum(parts)
    if total == 0:
        return difference, difference, difference
    freedom = total**2 / sum(part**2 / (len(side) - 1) for part, side in zip(parts, (first, second), strict=True))
    half = quantile(freedom) * total**0.5
    return difference, difference - half, difference + half
