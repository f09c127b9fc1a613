"""How other tools choose under noise, at an equal number of runs: Ray's Repeater, SMAC3 and Optuna with WilcoxonPruner.

Each is the real package, driven by its own ask and tell without its machinery for execution, at the settings of its
documentation. Each makes one run at a time, so it knows every earlier result when it decides; Seedwise is simulated
with several workers. A peer returns the configuration that it would select, and the score it reports for it.
"""

import contextlib
import logging
import math
import tempfile
import warnings
from collections.abc import Callable
from statistics import fmean
from typing import Any, NamedTuple

import optuna

from seedwise.spaces import Space, config_id
from seedwise.spaces.trials import RandomTrial

REPEATS = 3  # of Ray's Repeater
SEEDS = 8  # at most, of a trial with WilcoxonPruner
CALLS = 5  # at most, of a configuration with SMAC3

optuna.logging.set_verbosity(optuna.logging.WARNING)


class Choice(NamedTuple):
    """The result of a search: the selected configuration and the score reported for it."""

    params: dict
    reported: float


class Spent(Exception):
    """The budget of runs is used up."""


class Runs:
    """Runs of a world up to a budget. Raises `Spent` at the first run beyond it.

    Every suggestion is a new configuration. In a table, it is the nearest row that no earlier suggestion took: a peer
    that does not recognise a row would otherwise pay for the same scores twice.
    """

    def __init__(self, world: Any, budget: int):
        self.world, self.left = world, budget
        self.space = Space(world.space)
        self.taken: dict[str, dict] = {}  # suggestion -> configuration

    def configuration(self, suggested: dict) -> dict:
        """The configuration of a suggestion; the same at every call."""
        key = config_id(suggested)
        if key not in self.taken:
            others = getattr(self.world, "others", None)
            known = list(self.taken.values())
            self.taken[key] = others(suggested, known) if others else self.space.canonical(suggested)
        return self.taken[key]

    def score(self, suggested: dict, replicate: int) -> float:
        """The score of a run; nan if it failed."""
        if self.left == 0:
            raise Spent
        self.left -= 1
        return self.world.score(self.configuration(suggested), replicate)


def repeater(world: Any, budget: int, seed: int) -> Choice:
    """Ray's Repeater around its OptunaSearch (TPE): three seeds each, failures left out of the mean."""
    from ray.tune.search import Repeater
    from ray.tune.search.optuna import OptunaSearch
    from ray.tune.search.repeater import TRIAL_INDEX

    runs, means = Runs(world, budget), []
    searcher = Repeater(OptunaSearch(_asking(runs.space), metric="score", mode="max", seed=seed), repeat=REPEATS)
    logging.getLogger("ray.tune.search.optuna.optuna_search").setLevel(logging.ERROR)  # it warns about every nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for group in range(budget // REPEATS):
            scores = []
            for index in range(REPEATS):
                config = searcher.suggest(f"{group}-{index}")
                replicate = config.pop(TRIAL_INDEX)
                scores.append(runs.score(config, replicate))
                searcher.on_trial_complete(f"{group}-{index}", {"score": scores[-1]})
            finite = [score for score in scores if not math.isnan(score)]
            means.append(Choice(runs.configuration(config), fmean(finite) if finite else -math.inf))
    return max(means, key=lambda choice: choice.reported)


def single(world: Any, budget: int, seed: int) -> Choice:
    """Optuna's TPE as most use it: one run per trial, each with a seed of its own, and the best run wins."""
    runs, study = Runs(world, budget), optuna.create_study(direction="maximize", sampler=_tpe(seed))
    for number in range(budget):
        trial = study.ask()
        runs.space.function(trial)
        _tell(study, trial, [runs.score(trial.params, number)])
    return Choice(runs.configuration(study.best_params), study.best_value)


def wilcoxon(world: Any, budget: int, seed: int) -> Choice:
    """Optuna's WilcoxonPruner with seeds as instances: up to eight for a trial; pruned trials report their mean.

    A trial with a failed run fails, since Optuna accepts no nan. A trial cut short by the budget does not count.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the pruner is experimental and says so
        pruner = optuna.pruners.WilcoxonPruner(p_threshold=0.1)
        runs, study = Runs(world, budget), optuna.create_study(direction="maximize", sampler=_tpe(seed), pruner=pruner)
        with contextlib.suppress(Spent):
            while True:
                trial, scores = study.ask(), []
                runs.space.function(trial)
                for replicate in range(SEEDS):
                    scores.append(runs.score(trial.params, replicate))
                    trial.report(scores[-1], replicate)
                    if math.isnan(scores[-1]) or trial.should_prune():
                        break
                _tell(study, trial, scores)
    return Choice(runs.configuration(study.best_params), study.best_value)


def smac(world: Any, budget: int, seed: int) -> Choice:
    """SMAC3's facade for hyperparameters: random forest, and its intensifier with at most five seeds.

    It minimises, on a logarithmic scale, so its cost is 100 - score; a failed run counts as a crash that costs 100.
    """
    import joblib
    from smac import HyperparameterOptimizationFacade as Facade
    from smac import Scenario
    from smac.runhistory.dataclasses import TrialValue
    from smac.runhistory.enumerations import StatusType

    runs, replicates = Runs(world, budget), {}
    one_thread = joblib.parallel_config("sequential")  # its forests are far too small for thread pools
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), one_thread:
        warnings.simplefilter("ignore")
        logging.getLogger("smac").setLevel(logging.ERROR)
        scenario = Scenario(
            configuration_space(runs.space, seed),
            deterministic=False,
            n_trials=budget,
            seed=seed,
            output_directory=folder,
            crash_cost=100.0,
        )
        facade = Facade(
            scenario,
            intensifier=Facade.get_intensifier(scenario, max_config_calls=CALLS),
            logging_level=False,
            overwrite=True,
        )
        with contextlib.suppress(StopIteration):  # it has no further suggestion
            for _ in range(budget):
                trial = facade.ask()
                score = runs.score(_plain(trial.config), replicates.setdefault(trial.seed, len(replicates)))
                failed = math.isnan(score)
                status = StatusType.CRASHED if failed else StatusType.SUCCESS
                facade.tell(trial, TrialValue(cost=100.0 if failed else 100 - score, status=status), save=False)
        incumbent = facade.intensifier.get_incumbent()
        return Choice(runs.configuration(_plain(incumbent)), 100 - facade.runhistory.average_cost(incumbent))


def configuration_space(space: Space, seed: int) -> Any:
    """A space for ConfigSpace: a dimension that is not always active is conditional on a choice."""
    import ConfigSpace as cs

    kinds, made = space.dimensions, cs.ConfigurationSpace(seed=seed)
    for name, kind in kinds.items():
        if kind.choices is not None:
            made.add(cs.CategoricalHyperparameter(name, list(kind.choices)))
        else:
            number = cs.UniformIntegerHyperparameter if kind.integer else cs.UniformFloatHyperparameter
            made.add(number(name, kind.low, kind.high, log=kind.log))
    walks = list(_walks(space))
    for child in kinds:
        if all(child in walk for walk in walks):
            continue
        for parent, kind in kinds.items():
            values = {walk[parent] for walk in walks if child in walk and parent in walk}
            if kind.choices is not None and all((child in walk) == (walk.get(parent) in values) for walk in walks):
                made.add(cs.InCondition(made[child], made[parent], sorted(values)))
                break
    return made


def _walks(space: Space) -> Any:
    """The dimensions and values of random walks through the space function."""
    import random

    class Recording(RandomTrial):
        def _draw(self, name: str, dimension: Any) -> Any:
            self.answers[name] = super()._draw(name, dimension)
            return self.answers[name]

    trial = Recording(random.Random(0))
    for _ in range(200):
        trial.answers = {}
        space.function(trial)
        yield trial.answers


def _plain(configuration: Any) -> dict:
    """Plain values of a ConfigSpace configuration, which has numpy values."""
    return {name: getattr(value, "item", lambda value=value: value)() for name, value in dict(configuration).items()}


def _asking(space: Space) -> Callable[[Any], None]:
    """The space as a function for Ray, which records the suggestions itself."""

    def ask(trial: Any) -> None:
        space.function(trial)

    return ask


def _tpe(seed: int) -> optuna.samplers.TPESampler:
    return optuna.samplers.TPESampler(seed=seed)


def _tell(study: optuna.Study, trial: optuna.Trial, scores: list[float]) -> None:
    """The mean, or a failure where a run failed."""
    mean = fmean(scores)
    failed = math.isnan(mean)
    study.tell(trial, None if failed else mean, state=optuna.trial.TrialState.FAIL if failed else None)


PEERS = {"repeater-3": repeater, "optuna-1": single, "wilcoxon-8": wilcoxon, "smac-5": smac}
