"""Proposes configurations: turns the ledger into an Optuna study, and asks that for parameters.

The study is rebuilt from the ledger for every proposal, since Optuna's finished trials cannot be changed, but means
change with every replicate. So a proposal is a pure function of the ledger: the same lines give the same parameters.
"""

import contextlib
import hashlib
import itertools
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import optuna
from optuna.trial import FixedTrial, FrozenTrial, TrialState, create_trial

from seedwise.search.decide.samplers import SAMPLERS
from seedwise.search.ledger.state import Configuration, State
from seedwise.search.ranking.estimate import Estimate
from seedwise.search.ranking.estimator import Estimator
from seedwise.spaces import Space, config_id

MAX_DRAWS = 200  # draws of known configurations after which a space counts as exhausted
SAMPLER_DRAWS = 4  # of these draws: by the sampler; the other draws are random
STARTUP = (4, 10)  # the first third of the configurations is drawn at random, but at least 4 and at most 10
TRIED_AGAIN = 2  # configurations of earlier searches that go first
BEST_SHARE = 1 / 3  # of the trials that a sampler learns from: the best; the other trials are spread over the ranks


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """In this block Optuna does not log every study and trial. The user's log level is restored after the block."""
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
    """The sampler proposed a configuration of the ledger again, which is worth another replicate."""

    config_id: str
    ask: int


@dataclass(frozen=True)
class Proposer:
    """Proposes new configurations: first the enqueued configurations, then draws of the sampler.

    `random` and `grid` ignore results: their n-th proposal is the same whatever the runs reported. `varying` has the
    streams of a decomposition: the one enqueued configuration is proposed once per stream, and nothing else.
    """

    space: Space
    sampler: str
    seed: int
    estimator: Estimator
    enqueued: tuple[dict, ...] = ()
    expected: int | None = None  # configurations in all; None if only hours limit them
    varying: tuple[str | None, ...] = ()

    def propose(
        self, state: State, repeats: Callable[[Configuration], bool] = lambda _: False
    ) -> Proposal | Known | None:
        """The next configuration that is not in the ledger; None if the space has no more.

        A known configuration is proposed again if `repeats` says that it may have another replicate.
        """
        if self.varying:
            return self._varied(state.next_ask)
        known, first = state.configurations, self._first(state)
        for draws in range(MAX_DRAWS):
            ask = state.next_ask + draws
            if ask < len(first):
                drawn = self.space.complete(first[ask]), {}
            elif self.sampler == "grid":
                drawn = self._grid_point(ask - len(first))
            else:
                drawn = self._draw(ask, state, self.sampler if draws < SAMPLER_DRAWS else "random")
            if drawn is None:
                return None
            params, suggested = drawn
            if (identity := config_id(params)) not in known:
                return Proposal(identity, params, suggested, ask)
            if ask >= len(first) and repeats(known[identity]):
                return Known(identity, ask)
        return None

    def _varied(self, ask: int) -> Proposal | None:
        if ask >= len(self.varying):
            return None
        params, stream = self.space.complete(self.enqueued[0]), self.varying[ask]
        identity = config_id(params)
        return Proposal(identity if stream is None else f"{identity}-{stream}", params, {}, ask, stream)

    def _first(self, state: State) -> list[dict]:
        """The configurations to try before the sampler: those enqueued, then the best of earlier searches."""
        if self.sampler == "grid":
            return list(self.enqueued)
        inside = (earlier["params"] for earlier, _ in self._earlier(state))
        return [*self.enqueued, *itertools.islice(inside, TRIED_AGAIN)]

    @cached_property
    def _grid(self) -> tuple[list[tuple[dict, dict]], Iterator[tuple[dict, dict]]]:
        return [], self.space.grid()  # points so far, and points to come: a grid may be far larger than the budget

    def _grid_point(self, index: int) -> tuple[dict, dict] | None:
        points, rest = self._grid
        points.extend(itertools.islice(rest, max(0, index + 1 - len(points))))
        return points[index] if index < len(points) else None

    def _draw(self, ask: int, state: State, sampler: str) -> tuple[dict, dict]:
        seed = int.from_bytes(hashlib.sha256(f"{self.seed}/ask/{ask}".encode()).digest()[:4], "big")
        low, high = STARTUP
        startup = high if self.expected is None else min(high, max(low, self.expected // 3))
        with quiet():
            study = optuna.create_study(direction="maximize", sampler=SAMPLERS[sampler].make(seed, startup))
            if SAMPLERS[sampler].max_trials:
                study.add_trials(self._trials(state))
            trial = study.ask()
            params = self.space(trial)
        return params, trial.params

    def _trials(self, state: State) -> list[FrozenTrial]:
        """Configurations as trials: complete with their posterior mean, pruned, or running, which samplers avoid.

        A configuration that failed on every replicate so far is infeasible, since it has no real score. Trials of
        earlier searches (`--from`) come first, on the scale of this search, since their data may differ.
        """
        estimate = self.estimator.estimate(state)
        failed = np.zeros(0) if estimate is None else estimate.failed == estimate.count
        centre = 0.0 if estimate is None else float(np.median(estimate.mean))
        scale = 1.0 if estimate is None else float(np.std(estimate.mean)) or 1.0

        def complete(point: FixedTrial, value: float, *, infeasible: bool = False) -> FrozenTrial:
            constraints = {"failed": 1.0 if infeasible else -1.0} if failed.any() else None
            return _trial(point, value=value, constraints=constraints)

        trials = [complete(point, centre + scale * earlier["score"]) for earlier, point in self._earlier(state)]
        for configuration in self._selected(state, estimate):
            point = self._point(configuration.config_id, configuration.suggested or configuration.params)
            if point is None:
                continue
            index = None if estimate is None else estimate.index_of.get(configuration.config_id)
            if index is not None:
                trials.append(complete(point, float(estimate.mean[index]), infeasible=bool(failed[index])))
            elif configuration.pruned:
                steps, score_of = configuration.runs[0].steps.items(), self.estimator.selection.score
                scores = {step: score for step, metrics in steps if (score := score_of(metrics)) is not None}
                trials.append(_trial(point, state=TrialState.PRUNED, intermediate_values=scores))
            else:
                trials.append(_trial(point, state=TrialState.RUNNING))
        return trials

    def _selected(self, state: State, estimate: Estimate | None) -> list[Configuration]:
        """All configurations in order of proposal; if there are too many, only the best and a spread of the others."""
        configurations, most = list(state.configurations.values()), SAMPLERS[self.sampler].max_trials
        if estimate is None or len(configurations) <= most:
            return configurations
        best = int(BEST_SHARE * most)
        kept = {estimate.ids[index] for index in best_and_spread(estimate.ranking, most, best)}
        pruned = [configuration.config_id for configuration in configurations if configuration.pruned]
        dropped = {*estimate.ids, *pruned} - kept - set(pruned[-best:])
        return [configuration for configuration in configurations if configuration.config_id not in dropped]

    def _earlier(self, state: State) -> Iterator[tuple[dict, FixedTrial]]:
        """Configurations of earlier searches that are points of this space, best first."""
        for earlier in state.search.get("earlier", []):
            identity = f"earlier {config_id(earlier['params'])}"
            if point := self._point(identity, earlier["suggested"] or earlier["params"]):
                yield earlier, point

    @cached_property
    def _points(self) -> dict[str, FixedTrial | None]:
        return {}  # the cache of `_point`

    def _point(self, identity: str, values: dict) -> FixedTrial | None:
        if identity not in self._points:
            self._points[identity] = point_of(self.space, values)
        return self._points[identity]


def point_of(space: Space, values: dict) -> FixedTrial | None:
    """A configuration as a point of the space; None if it lies outside, as an enqueued configuration may."""
    point = FixedTrial(values)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)  # how Optuna says that a value is out of range
            space(point)
    except (ValueError, UserWarning):
        return None
    return point


def best_and_spread(ranking: list[int], most: int, best: int) -> list[int]:
    """At most `most` items of a ranking: the first `best`, then a selection spread evenly over the remaining ranks."""
    if len(ranking) <= most:
        return ranking
    spread = np.linspace(best, len(ranking) - 1, most - best).astype(int)
    return [*ranking[:best], *(ranking[rank] for rank in spread)]


def _trial(point: FixedTrial, **options: Any) -> FrozenTrial:
    return create_trial(params=point.params, distributions=point.distributions, **options)
