"""Proposals: from the ledger to an Optuna study to the parameters of a new configuration.

The study is rebuilt from the ledger for every ask, since Optuna's trials cannot be changed once told and our means grow
with every replicate. So a proposal is a pure function of the ledger: the same lines give the same parameters.
"""

import hashlib
import itertools
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

import optuna
from optuna.trial import FixedTrial, FrozenTrial, TrialState, create_trial

from search.ledger import Configuration, State
from search.selection import Selection
from search.specification import Specification
from spaces import Space, config_id

ATTEMPTS = 200  # draws before a space counts as exhausted
STARTUP = (4, 10)  # TPE draws at random for a third of the configurations, but at least and at most so many

optuna.logging.set_verbosity(optuna.logging.WARNING)


@dataclass(frozen=True)
class Proposal:
    """A configuration that the ledger does not know yet, what was drawn for it, and the number of the draw."""

    config_id: str
    params: dict
    suggested: dict
    ask: int


@dataclass(frozen=True)
class Proposer:
    """Where new configurations come from: first the enqueued ones, then the sampler of that name.

    `random` and `grid` do not look at results: their n-th proposal is the same whatever came of the others.
    """

    space: Space
    sampler: str
    seed: int
    selection: Selection
    enqueued: tuple[dict, ...] = ()
    expected: int | None = None  # configurations in all, where the budget says

    @classmethod
    def of(cls, specification: Specification) -> "Proposer":
        """The proposer that a specification describes."""
        return cls(
            space=specification.load_space(),
            sampler=specification.sampler,
            seed=specification.seed,
            selection=specification.selection(),
            enqueued=tuple(specification.enqueue),
            expected=specification.configurations(),
        )

    def propose(self, state: State) -> Proposal | None:
        """The next configuration that is not in the ledger; None when the space has no more."""
        known = state.configurations.keys()
        for ask in range(state.next_ask, state.next_ask + ATTEMPTS):
            drawn = self._draw(ask, state)
            if drawn is None:
                return None
            params, suggested = drawn
            if (identity := config_id(params)) not in known:
                return Proposal(identity, params, suggested, ask)
        return None

    @cached_property
    def _points(self) -> dict[str, FixedTrial | None]:
        return {}  # what `_point` found, by configuration

    @cached_property
    def _grid(self) -> tuple[list[tuple[dict, dict]], Iterator[tuple[dict, dict]]]:
        return [], self.space.grid()  # the points so far, and those to come: a grid may be far larger than the budget

    def _draw(self, ask: int, state: State) -> tuple[dict, dict] | None:
        if ask < len(self.enqueued):
            return self.space.complete(self.enqueued[ask]), {}
        if self.sampler == "grid":
            points, rest = self._grid
            index = ask - len(self.enqueued)
            points.extend(itertools.islice(rest, max(0, index + 1 - len(points))))
            return points[index] if index < len(points) else None
        study = optuna.create_study(direction="maximize", sampler=self._sampler(ask))
        if self.sampler == "tpe":
            study.add_trials(self._told(state))
        trial = study.ask()
        params = self.space(trial)
        return params, trial.params

    def _sampler(self, ask: int) -> optuna.samplers.BaseSampler:
        seed = int.from_bytes(hashlib.sha256(f"{self.seed}/ask/{ask}".encode()).digest()[:4], "big")
        if self.sampler == "random":
            return optuna.samplers.RandomSampler(seed=seed)
        low, high = STARTUP
        startup = high if self.expected is None else min(high, max(low, self.expected // 3))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            return optuna.samplers.TPESampler(seed=seed, multivariate=True, group=True, n_startup_trials=startup)

    def _told(self, state: State) -> list[FrozenTrial]:
        """Every configuration as a trial: complete with its mean score, or running, which keeps TPE away from it."""
        scores = self.selection.scores(state)
        trials = []
        for configuration in state.configurations.values():
            fixed = self._point(configuration)
            values = scores.get(configuration.config_id, {}).values()
            if fixed is not None:
                trials.append(
                    create_trial(
                        state=TrialState.COMPLETE if values else TrialState.RUNNING,
                        value=fmean(values) if values else None,
                        params=fixed.params,
                        distributions=fixed.distributions,
                    )
                )
        return trials

    def _point(self, configuration: Configuration) -> FixedTrial | None:
        """A configuration as a point of the space; None for an enqueued one outside it: Optuna has no use for it."""
        if configuration.config_id not in self._points:
            fixed = FixedTrial(configuration.suggested or configuration.params)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error", UserWarning)  # how Optuna says that a value is out of range
                    self.space(fixed)
            except (ValueError, UserWarning):
                fixed = None
            self._points[configuration.config_id] = fixed
        return self._points[configuration.config_id]
