"""Estimates true means from replicates: a score is mu + configuration + replicate + noise, all but mu random.

Replicates are paired, so a lucky seed is lucky for every configuration, and its effect is estimated once and taken out.
The noise is pooled, since two or three seeds say little about the noise of one configuration. The estimates of effects
and noise are robust to heavy tails. A configuration's mean is not: collapses on some seeds have to lower it.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from seedwise.search.ranking.summary import quantile
from seedwise.search.ranking.surrogate import posterior

MAX_CONTENDERS = 300  # configurations whose true means are drawn
DRAWS = 4000  # Monte Carlo draws behind P(best): its standard error is below 0.008
POOLED_FREEDOM = 5.0  # degrees of freedom that the pooled noise counts for beside a configuration's own spread
HUBER = 2.0  # sds beyond which residuals weigh less in the pooled noise and in the replicates' effects
CLIPPED = 0.9205  # share of a normal variance that clipping at HUBER leaves
ROUNDS = 4  # of reweighting
NOISE_GUESS = 0.25  # the noise before there are replicates, as a share of the spread between good configurations
MIN_FREEDOM = 3  # of the draws: with fewer their variance is infinite


@dataclass(frozen=True)
class Table:
    """Scores by configuration (rows) and replicate (columns), nan if the run has not finished.

    A run that `failed` has the value it counts as, or nan if no run has a score. A model that `collapsed` to a single
    class has its score, which says nothing about how its seed does elsewhere.
    """

    ids: tuple[str, ...]
    values: np.ndarray
    failed: np.ndarray
    collapsed: np.ndarray


@dataclass(frozen=True)
class Estimate:
    """The posterior of the true mean of every configuration, in the table's order.

    `raw` is the mean over replicates without the replicates' effects; `mean` and `sd` are the posterior, shrunk towards
    what the other configurations predict. `seeds` is the sd of the replicates' effects, `noise` the sd of what is left,
    `freedom` the degrees of freedom behind `noise`. `shared` (configurations x replicates) is the part of the
    uncertainty that comes from the replicates' effects: equal rows cancel in a difference.
    """

    ids: tuple[str, ...]
    raw: np.ndarray
    mean: np.ndarray
    sd: np.ndarray
    count: np.ndarray
    failed: np.ndarray
    noise: float
    seeds: float
    freedom: int
    shared: np.ndarray = field(repr=False)

    @cached_property
    def index_of(self) -> dict[str, int]:
        """Configuration id -> index into the arrays."""
        return {config_id: index for index, config_id in enumerate(self.ids)}

    @cached_property
    def ranking(self) -> list[int]:
        """Indices, best first. Ties are broken by id, so the order never depends on which run ended first."""
        return sorted(range(len(self.ids)), key=lambda index: (-self.mean[index], self.ids[index]))

    @property
    def best(self) -> int:
        return self.ranking[0]

    @property
    def replicated(self) -> bool:
        """Whether any configuration has two scores. If not, the noise is a guess, and P(best) and ties mean nothing."""
        return bool((self.count - self.failed >= 2).any())

    def interval(self, index: int) -> tuple[float, float]:
        """The 95 % interval of a configuration's true mean."""
        half = quantile(self.freedom) * self._total_sd[index]
        return float(self.mean[index] - half), float(self.mean[index] + half)

    @cached_property
    def _total_sd(self) -> np.ndarray:
        return np.sqrt(self.sd**2 + (self.shared**2).sum(1))

    @cached_property
    def tied(self) -> np.ndarray:
        """Configurations that cannot be told apart from the best: the 95 % interval of the difference contains zero."""
        best, difference = self.best, self.mean[self.best] - self.mean
        variance = self.sd[best] ** 2 + self.sd**2 + ((self.shared[best] - self.shared) ** 2).sum(1)
        return (difference - quantile(self.freedom) * np.sqrt(variance) <= 0) | (difference <= 0)

    def draws(self, generator: np.random.Generator, size: int, pending: np.ndarray | None = None) -> np.ndarray:
        """Draw the true means of `contenders` (columns) `size` times (rows) from the heavy-tailed posterior.

        `pending` is the number of each contender's unfinished runs. They count as already narrowing the uncertainty, so
        that a policy does not send all workers to the same configuration.
        """
        few = self.contenders
        sd = self.sd[few]
        if pending is not None:
            sd = sd * np.sqrt(self.count[few] / (self.count[few] + pending))
        freedom = max(MIN_FREEDOM, self.freedom)
        stretch = np.sqrt(freedom / generator.chisquare(freedom, size=(size, 1)))
        own = sd * generator.standard_normal((size, len(few)))
        common = generator.standard_normal((size, self.shared.shape[1])) @ self.shared[few].T
        return self.mean[few] + stretch * (own + common)

    @cached_property
    def contenders(self) -> np.ndarray:
        """Indices of the configurations that may be best: their means plus six sds reach the highest mean.

        At most the MAX_CONTENDERS likeliest are kept: if more are alike, each has next to no chance.
        """
        few = np.flatnonzero(self.mean + 6 * self._total_sd >= self.mean[self.best])
        if len(few) > MAX_CONTENDERS:
            few = np.sort(few[np.argsort(-(self.mean + 2 * self._total_sd)[few], kind="stable")[:MAX_CONTENDERS]])
        return few if self.best in few else np.append(few, self.best)

    @cached_property
    def _fixed_draws(self) -> np.ndarray:
        return self.draws(np.random.default_rng(0), DRAWS)

    @cached_property
    def p_best(self) -> np.ndarray:
        """The probability that each configuration has the highest true mean."""
        chances = np.zeros(len(self.ids))
        chances[self.contenders] = np.bincount(self._fixed_draws.argmax(1), minlength=len(self.contenders)) / DRAWS
        return chances

    @cached_property
    def regret(self) -> float:
        """The expected distance of the leader's true mean from the highest true mean, in units of the score."""
        best = int(np.flatnonzero(self.contenders == self.best)[0])
        return float((self._fixed_draws.max(1) - self._fixed_draws[:, best]).mean())


def estimate(table: Table, points: np.ndarray | None = None) -> Estimate:
    """The posterior of every configuration's true mean.

    `points` are the configurations' coordinates in the space: means shrink towards a surrogate over it, or without
    `points` towards their common mean. Failed and collapsed runs count in a configuration's mean like any score; the
    replicates' effects and the noise are learned from the other runs.
    """
    failed = table.failed
    values = np.where(failed | table.collapsed, np.nan, table.values)
    if not np.isfinite(values).any():  # all that ended collapsed
        values = np.where(failed, np.nan, table.values)
    done = np.isfinite(values)
    if not done.any():  # all runs failed, so no configuration is better
        zero, rows = np.zeros(len(table.ids)), failed.sum(1)
        return Estimate(table.ids, zero, zero, zero + 1, rows, rows, 1.0, 0.0, 1, np.zeros((len(rows), 1)))
    fit = two_way(values)
    adjusted = table.values - fit.effects
    count = np.isfinite(table.values).sum(1)
    raw = np.nansum(adjusted, axis=1) / count
    pooled = fit.noise**2 / count
    shrunken = posterior(raw, pooled, points)
    # A configuration's own spread widens its interval, but must not draw its mean towards the other configurations:
    # that would rescue a configuration that collapses on some seeds.
    squares = np.nansum((adjusted - raw[:, None]) ** 2, axis=1)
    own = (POOLED_FREEDOM * fit.noise**2 + squares) / (POOLED_FREEDOM + count - 1) / count
    sd = np.sqrt(shrunken.sd**2 + (own - pooled).clip(0))
    shared = (done / count[:, None]) @ fit.root
    return Estimate(table.ids, raw, shrunken.mean, sd, count, failed.sum(1), fit.noise, fit.seeds, fit.freedom, shared)


@dataclass(frozen=True)
class TwoWay:
    """The replicates' effects, a root of their covariance, and the sds of noise and effects."""

    effects: np.ndarray
    root: np.ndarray
    noise: float
    seeds: float
    freedom: int


def two_way(values: np.ndarray) -> TwoWay:
    """Fit value = configuration + replicate + noise to a table with gaps (nan), configurations free, replicates random.

    Configurations are eliminated first, which is exact and leaves one equation per replicate, so thousands of
    configurations are cheap. The noise is that of the better half of the configurations: poor ones are often noisier.
    """
    done = np.isfinite(values)
    scale = _spread_of_the_better(values, done)
    floor = max(1e-6 * scale, 1e-9 * float(np.abs(values[done]).max()), 1e-12)
    guess = max(NOISE_GUESS * scale, floor)
    replicated = done.sum(1) >= 2
    columns = values.shape[1]
    if not replicated.any():
        return TwoWay(np.zeros(columns), np.eye(columns) * floor, guess, 0.0, 1)
    table, done = np.where(done, values, 0.0)[replicated], done[replicated].astype(float)
    count = done.sum(1, keepdims=True)
    available = float((count - 1).sum())
    noise, seeds, weights = guess, guess, done
    for _ in range(ROUNDS):
        total = weights.sum(1, keepdims=True)
        centre = (weights * table).sum(1, keepdims=True) / total
        better = (centre >= np.median(centre)).ravel()
        matrix = np.diag(weights.sum(0)) - weights.T @ (weights / total)
        right = (weights * (table - centre)).sum(0)
        strengths, basis = np.linalg.eigh(matrix)
        strengths = strengths.clip(0)
        seeds = _spread_of_effects(strengths, basis.T @ right, noise, seeds)
        ridge = noise**2 / seeds**2
        inverse = (basis / (strengths + ridge)) @ basis.T
        effects = inverse @ right
        residual = np.where(done > 0, table - centre - effects + (weights @ effects)[:, None] / total, 0.0)
        freedom = available - float((strengths / (strengths + ridge)).sum())
        share = float((count[better] - 1).sum()) / available
        # The guess counts as one degree of freedom: a pair of scores that happen to be equal does not mean no noise.
        squares = float(((weights * residual)[better] ** 2).sum()) / CLIPPED
        noise = max(np.sqrt((guess**2 + squares) / (1 + max(0.0, freedom) * share)), floor)
        typical = noise * np.sqrt(np.maximum(1 - 1 / count, 0.5))
        weights = done / np.maximum(1.0, np.abs(residual) / (HUBER * typical))
    root = noise * (basis / np.sqrt(strengths + ridge))
    return TwoWay(effects, root, float(noise), float(seeds), max(1, round(freedom * share)))


def _spread_of_effects(strengths: np.ndarray, right: np.ndarray, noise: float, start: float) -> float:
    """The replicates' sd by maximum likelihood (EM): right ~ N(0, noise^2 d + seeds^2 d^2) in the eigenbasis.

    A pseudo-replicate with an effect as large as the noise is added: a few real ones say little about their spread.
    """
    informative = strengths > 1e-8 * strengths.max()
    strengths, right, variance = strengths[informative], right[informative], start**2
    for _ in range(30):
        inverse = 1 / (strengths + noise**2 / variance)
        variance = float(np.sum((inverse * right) ** 2 + noise**2 * inverse) + noise**2) / (len(strengths) + 1)
    return variance**0.5


def _spread_of_the_better(values: np.ndarray, done: np.ndarray) -> float:
    """The sd of the means of the better half of the configurations: very poor ones would inflate it."""
    some = done.any(1)
    means = np.where(done, values, 0.0).sum(1)[some] / done.sum(1)[some]
    top = np.sort(means)[len(means) // 2 :]
    return next((float(sd) for sd in (top.std(), means.std()) if sd > 0), float(values[done].std()))
