"""The samplers that propose configurations. To add a sampler, add it to `SAMPLERS`."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import optuna

REMOVED = "cmaes"  # of earlier versions: a search that used it can be read, and resumed with another sampler


@dataclass(frozen=True)
class Sampler:
    """One of Optuna's samplers.

    `make` takes a seed and the number of trials to draw at random before the sampler learns. Without `make`, the points
    of the grid are proposed in order. `max_trials` limits the trials that the sampler learns from, since more would
    only make it slower; 0: it learns nothing, so its n-th proposal is the same whatever the runs reported.
    """

    make: Callable[[int, int], optuna.samplers.BaseSampler] | None = None
    max_trials: int = 0


def _tpe(seed: int, startup: int) -> optuna.samplers.BaseSampler:
    # Univariate: with the few tens of configurations of a typical budget, it found better configurations than the
    # multivariate variant (worlds below 1000 of benchmarks/racing.py).
    return optuna.samplers.TPESampler(seed=seed, n_startup_trials=startup)


def _gp(seed: int, startup: int) -> optuna.samplers.BaseSampler:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        return optuna.samplers.GPSampler(seed=seed, n_startup_trials=startup, warn_independent_sampling=False)


def _random(seed: int, startup: int) -> optuna.samplers.BaseSampler:
    return optuna.samplers.RandomSampler(seed=seed)


SAMPLERS = {"tpe": Sampler(_tpe, 300), "gp": Sampler(_gp, 100), "random": Sampler(_random), "grid": Sampler()}
