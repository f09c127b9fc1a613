"""A stand-in for Tune's loop: real phases, session, searcher, pruner and trainable in the test's own process.

Each behaviour has one test on Tune itself; further cases use this loop, which takes a tenth of a second instead of 4.
As many runs as slots take turns, an epoch each, so lines of the ledger interleave as with real workers. Workers that
die, hang or keep memory need processes of their own and cannot be tested here.
"""

from types import SimpleNamespace

import pytest
import ray
from ray import tune
from ray.tune.schedulers import TrialScheduler
from ray.tune.search import Searcher
from ray.tune.utils import flatten_dict


def use_fake_loop(patch: pytest.MonkeyPatch) -> None:
    """Use this loop in place of Tune for searches in this process. Ray must be running for its key-value store."""
    patch.setattr(tune, "run", run)
    patch.setattr(
        "seedwise.search.execution.worker.begin_together", lambda *_, **__: None
    )  # one process would deadlock


class Actor:
    """A trainable whose methods are called like those of a Ray actor."""

    def __init__(self, trainable: tune.Trainable):
        self._trainable = trainable

    def __getattr__(self, name: str) -> SimpleNamespace:
        return SimpleNamespace(remote=lambda *given: self._call(name, given))

    def _call(self, name: str, given: tuple) -> ray.ObjectRef:
        values = [ray.get(value) if isinstance(value, ray.ObjectRef) else value for value in given]
        return ray.put(getattr(self._trainable, name)(*values))


def run(trainable: type, *, search_alg: Searcher, scheduler: TrialScheduler, callbacks: list, **_: object) -> None:
    """Stand-in for `tune.run`: request runs, step them, and report each step."""
    running: dict[str, SimpleNamespace] = {}
    idle: list[tune.Trainable] = []  # they are reused, as Tune reuses workers
    started, finished = 0, False
    while running or not finished:
        while not finished:
            trial_id = f"{started:05d}"
            config = search_alg.suggest(trial_id)
            if config is None:
                break
            if config == Searcher.FINISHED:
                finished = True
                break
            started += 1
            if idle:
                worker = idle.pop()
                worker.reset(config)
            else:
                worker = trainable(config=config)
            trial = SimpleNamespace(trial_id=trial_id, worker=worker)
            trial.temporary_state = SimpleNamespace(ray_actor=Actor(worker))
            running[trial_id] = trial
            tell(callbacks, "on_trial_start", trial=trial)
        for trial_id, trial in list(running.items()):
            result = flatten_dict(trial.worker.train())
            if result["done"] or scheduler.on_trial_result(None, trial, result) == TrialScheduler.STOP:
                search_alg.on_trial_complete(trial_id, result)
                idle.append(running.pop(trial_id).worker)
            tell(callbacks, "on_step_end")


def tell(callbacks: list, event: str, **what: object) -> None:
    for callback in callbacks:
        getattr(callback, event)(iteration=0, trials=[], **what)
