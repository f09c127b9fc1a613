"""CMA-ES for a study that is rebuilt for every ask: the evolution is replayed from the trials, nothing is remembered.

Optuna's own CmaEsSampler keeps its state in the trials it asked for. Ours are told anew each time, with other values
as replicates come in, and among them are points that nobody asked CMA-ES for (enqueued ones, other samplers').
"""

import math
from typing import Any

import numpy as np
import optuna
from cmaes import CMA
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution
from optuna.samplers import BaseSampler, TPESampler
from optuna.search_space import IntersectionSearchSpace
from optuna.trial import FrozenTrial, TrialState

STEP = 1 / 6  # the first standard deviation as a share of every range, as in Optuna: three of them reach the ends
SEED = 0  # of the places of whole numbers within their cells: the same in every replay


class Evolution(BaseSampler):
    """A pure function of the trials, in the order of their numbers, and the seed of this ask.

    Finished trials make generations of the population size, in order, and each moves the distribution that the next
    point is drawn from. CMA-ES moves what is numeric and in every trial. Categories, conditional dimensions, a numeric
    dimension without a second, and all of them until the first generation is full, are drawn by TPE, each by itself:
    at random for the first ten trials. A failed trial counts as the last of its generation.
    """

    def __init__(self, seed: int):
        self._seed = seed
        self._independent = TPESampler(seed=seed)

    def reseed_rng(self) -> None:
        """Nothing to do: the seed belongs to the ask."""

    def infer_relative_search_space(self, study: optuna.Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """The numeric dimensions that all trials share; none where there is only one, which CMA-ES is not for."""
        shared = IntersectionSearchSpace().calculate(study)
        numeric = {
            name: distribution
            for name, distribution in shared.items()
            if isinstance(distribution, FloatDistribution | IntDistribution) and not distribution.single()
        }
        return numeric if len(numeric) > 1 else {}

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """The next point of the evolution so far; nothing before the first generation is full."""
        if not search_space:
            return {}
        axes = [Axis(distribution) for distribution in search_space.values()]
        evolution = replay(_told(study, search_space), axes, self._seed)
        if evolution.generation == 0:
            return {}
        return {name: axis.value(x) for name, axis, x in zip(search_space, axes, evolution.ask(), strict=True)}

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """A value of a dimension that CMA-ES does not move."""
        return self._independent.sample_independent(study, trial, param_name, param_distribution)


class Axis:
    """A numeric dimension as [0, 1], on the scale it is searched on. A value with a step stands for its whole cell."""

    def __init__(self, distribution: FloatDistribution | IntDistribution):
        self.distribution = distribution
        self.step = 0.0 if distribution.step is None else float(distribution.step)
        self.low = self._scale(distribution.low - self.step / 2)
        self.high = self._scale(distribution.high + self.step / 2)

    def _scale(self, value: float) -> float:
        return math.log(value) if self.distribution.log else float(value)

    def place(self, value: float, within: float) -> float:
        """Where a value is; `within` (0 to 1) says where in its cell, if it has one.

        All whole numbers alike would be a spread of 0, and CMA-ES would never leave that number again.
        """
        inside = value + (within - 0.5) * self.step
        return (self._scale(inside) - self.low) / (self.high - self.low)

    def value(self, place: float) -> float | int:
        """The value at a place."""
        at = self.low + place * (self.high - self.low)
        low, high = self.distribution.low, self.distribution.high
        found = math.exp(at) if self.distribution.log else at
        if self.step:
            found = low + round((found - low) / self.step) * self.step
        found = min(max(found, low), high)
        return round(found) if isinstance(self.distribution, IntDistribution) else float(found)


def replay(told: list[tuple[list[float], float]], axes: list[Axis], seed: int) -> CMA:
    """CMA-ES after all full generations of `told`, pairs of values and a loss; only what it draws next has `seed`.

    An evolution that has converged starts again from the whole space with the next generation.
    """
    within = np.random.default_rng(SEED).random((len(told), len(axes)))
    places = [
        np.array([axis.place(value, inside) for axis, value, inside in zip(axes, values, row, strict=True)])
        for (values, _), row in zip(told, within, strict=True)
    ]
    evolution = _start(len(axes), seed)
    size = evolution.population_size
    for first in range(0, len(told) - size + 1, size):
        generation = range(first, first + size)
        evolution.tell([(places[index], told[index][1]) for index in generation])
        if evolution.should_stop():
            evolution = _start(len(axes), seed)
    return evolution


def _start(size: int, seed: int) -> CMA:
    return CMA(mean=np.full(size, 0.5), sigma=STEP, bounds=np.tile([0.0, 1.0], (size, 1)), seed=seed % 2**32)


def _told(study: optuna.Study, search_space: dict[str, BaseDistribution]) -> list[tuple[list[float], float]]:
    """Values and loss of every finished trial in order; a failed one has a loss above all others."""
    sign = -1 if study.direction == optuna.study.StudyDirection.MAXIMIZE else 1
    trials = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE, TrialState.FAIL))
    losses = [sign * trial.value for trial in trials if trial.state == TrialState.COMPLETE]
    worst = max(losses, default=0.0) + 1.0
    return [
        ([trial.params[name] for name in search_space], sign * trial.value if trial.value is not None else worst)
        for trial in trials
        if all(trial.distributions.get(name) == distribution for name, distribution in search_space.items())
    ]
