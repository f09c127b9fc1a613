"""Proposals: from the ledger to an Optuna study to the parameters of a new configuration.

The study is rebuilt from the ledger for every ask, since Optuna's trials cannot be changed once told and our means grow
with every replicate. So a proposal is a pure function of the ledger: the same lines give the same parameters.
"""

import contextlib
import hashlib
import itertools
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import optuna
from optuna.trial import FixedTrial, FrozenTrial, TrialState, create_trial

from seedwise.search.ledger.state import Configuration, State
from seedwise.search.ranking.estimate import Estimate
from seedwise.search.ranking.estimator import Estimator
from seedwise.spaces import Space, config_id

SAMPLERS = ("tpe", "gp", "random", "grid")
REMOVED = "cmaes"  # a sampler of earlier versions: their searches can be read, and go on with another one
BLIND = ("random", "grid")  # these do not look at results
ATTEMPTS = 200  # draws before a space counts as exhausted
DRAWS = 4  # of known configurations, after which draws are random
STARTUP = (4, 10)  # the first third of the configurations is drawn at random, but at least and at most so many
MAX_TRIALS = {"tpe": 300, "gp": 100}  # that a sampler learns from: beyond them it only gets slower
TRIED_AGAIN = 2  # configurations of earlier searches that go first
BEST = 1 / 3  # the share of them that are the best ones; the others are spread over the rest


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """In this block Optuna does not report every study and trial; how much it reports elsewhere is left to its user."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)


@dataclass(frozen=True)
class Proposal:
    """A configuration that the ledger does not know yet, what was drawn for it, and the number of the draw."""

    config_id: str
    params: dict
    suggested: dict
    ask: int
    vary: str | None = None


@dataclass(frozen=True)
class Known:
    """The sampler came back to a configuration of the ledger: worth another replicate of it."""

    config_id: str
    ask: int


@dataclass(frozen=True)
class Proposer:
    """Where new configurations come from: first the enqueued ones, then the sampler of that name.

    `random` and `grid` do not look at results: their n-th proposal is the same whatever came of the others. `varying`
    are streams for a decomposition: the one enqueued configuration is then proposed once per stream, and nothing else.
    """

    space: Space
    sampler: str
    seed: int
    estimator: Estimator
    enqueued: tuple[dict, ...] = ()
    expected: int | None = None  # configurations in all, where the budget says
    varying: tuple[str | None, ...] = ()

    def propose(
        self, state: State, takes: Callable[[Configuration], bool] = lambda _: False
    ) -> Proposal | Known | None:
        """The next configuration that is not in the ledger; None when the space has no more.

        A known one is proposed again where `takes` says that it may have another replicate.
        """
        if self.varying:
            return self._varied(state.next_ask)
        known = state.configurations
        for tries in range(ATTEMPTS):
            ask = state.next_ask + tries
            drawn = self._draw(ask, state, self.sampler if tries < DRAWS or self.sampler == "grid" else "random")
            if drawn is None:
                return None
            params, suggested = drawn
            if (identity := config_id(params)) not in known:
                return Proposal(identity, params, suggested, ask)
            if ask >= len(self._first(state)) and takes(known[identity]):
                return Known(identity, ask)
        return None

    def _varied(self, ask: int) -> Proposal | None:
        if ask >= len(self.varying):
            return None
        params, stream = self.space.complete(self.enqueued[0]), self.varying[ask]
        identity = config_id(params)
        return Proposal(identity if stream is None else f"{identity}-{stream}", params, {}, ask, stream)

    @cached_property
    def _points(self) -> dict[str, FixedTrial | None]:
        return {}  # what `_point` found, by configuration

    @cached_property
    def _grid(self) -> tuple[list[tuple[dict, dict]], Iterator[tuple[dict, dict]]]:
        return [], self.space.grid()  # the points so far, and those to come: a grid may be far larger than the budget

    def _draw(self, ask: int, state: State, sampler: str) -> tuple[dict, dict] | None:
        first = self._first(state)
        if ask < len(first):
            return self.space.complete(first[ask]), {}
        if sampler == "grid":
            points, rest = self._grid
            index = ask - len(first)
            points.extend(itertools.islice(rest, max(0, index + 1 - len(points))))
            return points[index] if index < len(points) else None
        with quiet():
            study = optuna.create_study(direction="maximize", sampler=self._sampler(ask, sampler))
            if sampler not in BLIND:
                study.add_trials(self._trials(state))
            trial = study.ask()
            params = self.space(trial)
        return params, trial.params

    def _first(self, state: State) -> list[dict]:
        """What is tried before the sampler is asked: the enqueued, then the best of earlier searches."""
        if self.sampler == "grid":
            return list(self.enqueued)
        known = (earlier for earlier in state.search.get("earlier", []) if self._earlier_point(earlier) is not None)
        return [*self.enqueued, *(earlier["params"] for earlier in itertools.islice(known, TRIED_AGAIN))]

    def _sampler(self, ask: int, name: str) -> optuna.samplers.BaseSampler:
        seed = int.from_bytes(hashlib.sha256(f"{self.seed}/ask/{ask}".encode()).digest()[:4], "big")
        low, high = STARTUP
        startup = high if self.expected is None else min(high, max(low, self.expected // 3))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            if name == "random":
                return optuna.samplers.RandomSampler(seed=seed)
            if name == "gp":
                return optuna.samplers.GPSampler(seed=seed, n_startup_trials=startup, warn_independent_sampling=False)
            # One dimension at a time: with the tens of configurations that a budget pays for, this found better ones
            # than the multivariate variant did (worlds below 1000 of benchmarks/racing.py).
            return optuna.samplers.TPESampler(seed=seed, n_startup_trials=startup)

    def _trials(self, state: State) -> list[FrozenTrial]:
        """Configurations as trials: complete with their posterior mean, pruned, or running, which repels samplers.

        A configuration that failed on every replicate so far is told as infeasible: its score would be an invention.
        """
        found = self.estimator.estimate(state)
        infeasible = found is not None and bool((found.failed == found.count).any())
        trials = self._earlier(state, found, {"failed": -1.0} if infeasible else None)
        for configuration in self._chosen(state, found):
            fixed = self._point(configuration.config_id, configuration.suggested or configuration.params)
            if fixed is None:
                continue
            point = {"params": fixed.params, "distributions": fixed.distributions}
            index = None if found is None else found.index_of.get(configuration.config_id)
            if index is not None:
                failed = found.failed[index] == found.count[index]
                constraints = {"failed": 1.0 if failed else -1.0} if infeasible else None
                trials.append(create_trial(value=float(found.mean[index]), constraints=constraints, **point))
            elif configuration.pruned:
                steps = {
                    step: score
                    for step, metrics in configuration.runs[0].steps.items()
                    if (score := self.estimator.selection.score(metrics)) is not None
                }
                trials.append(create_trial(state=TrialState.PRUNED, intermediate_values=steps, **point))
            else:
                trials.append(create_trial(state=TrialState.RUNNING, **point))
        return trials

    def _chosen(self, state: State, found: Estimate | None) -> list[Configuration]:
        """All configurations, or, where they are too many, the best and a spread of the others; in order of asking."""
        configurations, most = list(state.configurations.values()), MAX_TRIALS[self.sampler]
        if found is None or len(configurations) <= most:
            return configurations
        ranking, best = np.array(found.ranking), int(BEST * most)
        if len(ranking) > most:
            spread = np.linspace(best, len(ranking) - 1, most - best).astype(int)
            ranking = np.concatenate([ranking[:best], ranking[spread]])
        ids = {found.ids[index] for index in ranking}
        pruned = [configuration.config_id for configuration in configurations if configuration.pruned][-best:]
        ids.update(pruned)
        return [
            configuration
            for configuration in configurations
            if configuration.config_id in ids
            or not (configuration.config_id in found.index_of or configuration.pruned)  # it is running
        ]

    def _earlier(self, state: State, found: Estimate | None, constraints: dict | None) -> list[FrozenTrial]:
        """What earlier searches found (`--from`), on this search's scale: their data may not be the same."""
        centre, scale = 0.0, 1.0
        if found is not None:
            centre, scale = float(np.median(found.mean)), float(np.std(found.mean)) or 1.0
        trials = []
        for earlier in state.search.get("earlier", []):
            fixed = self._earlier_point(earlier)
            if fixed is not None:
                value = centre + scale * earlier["score"]
                point = {"params": fixed.params, "distributions": fixed.distributions}
                trials.append(create_trial(value=value, constraints=constraints, **point))
        return trials

    def _earlier_point(self, earlier: dict) -> FixedTrial | None:
        return self._point(f"earlier {config_id(earlier['params'])}", earlier["suggested"] or earlier["params"])

    def _point(self, identity: str, values: dict) -> FixedTrial | None:
        if identity not in self._points:
            self._points[identity] = point(self.space, values)
        return self._points[identity]


def point(space: Space, values: dict) -> FixedTrial | None:
    """A configuration as a point of the space; None for one outside it, as enqueued ones may be."""
    fixed = FixedTrial(values)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)  # how Optuna says that a value is out of range
            space(fixed)
    except (ValueError, UserWarning):
        return None
    return fixed
