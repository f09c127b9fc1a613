"""The plan of a landscape: its runs, each of which can start once its models are trained. Pure, like a policy."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from seedwise.folder import run_id
from seedwise.search.decide.next_run import Dependencies
from seedwise.search.decide.policy import Action, FromPlan, Stop, Wait
from seedwise.search.ledger.state import DONE, INTERRUPTED, RUNNING, Run, State
from seedwise.spaces import config_id
from seedwise.trainables.landscape.jobs import INITIAL, TRAIN, Job, Model, jobs
from seedwise.trainables.methods import spec_of
from seedwise.trainables.request import Request
from seedwise.trainables.training.options import names_of


@dataclass(frozen=True)
class PlannedRun:
    """A job at a replicate, as a run of the ledger."""

    job: Job
    replicate: int
    config_id: str
    params: dict

    @property
    def name(self) -> str:
        return run_id(self.config_id, self.replicate)


@dataclass(frozen=True)
class Plan(Dependencies):
    """All runs of a landscape of the configuration `params`, in the order in which they are started."""

    params: dict
    targets: tuple[str, ...]
    options: dict  # `landscape` of the specification
    shared: bool  # the source model serves all targets

    @classmethod
    def of(cls, request: Request) -> "Plan":
        """Create the plan from the specification of a landscape, which has one configuration."""
        targets, shared = tuple(request.task.targets), spec_of(request.method).landscape.shared
        return cls(params_of(request), targets, request.landscape.model_dump(), shared)

    @cached_property
    def runs(self) -> list[PlannedRun]:
        planned = []
        for job, replicate in jobs(list(self.targets), self.options, shared=self.shared):
            params = {**job.params(), **self.params}
            planned.append(PlannedRun(job, replicate, config_id(params), params))
        return planned

    @cached_property
    def trained(self) -> dict[Model, PlannedRun]:
        """The training run of every model."""
        trainings = (planned for planned in self.runs if planned.job.landscape == TRAIN)
        return {Model(planned.job.on, planned.job.target, planned.replicate): planned for planned in trainings}

    def models(self, planned: PlannedRun) -> list[PlannedRun]:
        """The training runs that a run needs, in the order in which it takes their models."""
        return [self.trained[model] for model in planned.job.models(planned.replicate, shared=self.shared)]

    def needs(self, run: Run) -> list[str]:
        planned = next(planned for planned in self.runs if planned.name == run.name)
        return [model.name for model in self.models(planned)]

    def needed(self, state: State) -> set[str]:
        """The models that unfinished runs take, except runs that can never start because one of their models failed."""
        left = [planned for planned, run in self.with_runs(state) if run is None or not run.finished]
        possible = [planned for planned in left if not self._blocked(state, planned)]
        return {model.name for planned in possible for model in self.models(planned)}

    def in_words(self) -> str:
        """The numbers of models, points and runs, for a dry run."""
        points = [len(planned.job.points()) for planned in self.runs if planned.job.landscape != TRAIN]
        trained = sum(model.on != INITIAL for model in self.trained)
        return f"{trained} models, {sum(points)} points in {len(points)} runs"

    def next_action(self, state: State, *, more: bool = True) -> Action:
        """The first run whose models are trained. A run with a model that failed is never started."""
        left = [(planned, run) for planned, run in self.with_runs(state) if run is None or run.status == INTERRUPTED]
        for planned, run in left:
            if self._ready(state, planned):
                because = "it was running when the landscape stopped" if run else "its models are trained"
                return FromPlan(planned.config_id, planned.replicate, because, planned.params)
        blocked = [self._blocked(state, planned) for planned, _ in left]
        if not all(blocked) and any(run.status == RUNNING for run in state.runs()):
            return Wait()
        return Stop("what is left needs models that failed" if any(blocked) else "all points are evaluated")

    def beginning(self, state: State) -> int:
        left = [planned for planned, run in self.with_runs(state) if run is None or not run.finished]
        return sum(self._ready(state, planned) for planned in left)

    def with_runs(self, state: State) -> Iterator[tuple[PlannedRun, Run | None]]:
        return ((planned, self.run_of(state, planned)) for planned in self.runs)

    @staticmethod
    def run_of(state: State, planned: PlannedRun) -> Run | None:
        """The run that the ledger has for a planned run; None if it has not started."""
        known = state.configurations.get(planned.config_id)
        return known and known.runs.get(planned.replicate)

    def _ready(self, state: State, planned: PlannedRun) -> bool:
        runs = [self.run_of(state, model) for model in self.models(planned)]
        return all(run is not None and run.status == DONE for run in runs)

    def _blocked(self, state: State, planned: PlannedRun) -> bool:
        runs = [self.run_of(state, model) for model in self.models(planned)]
        return any(run is not None and run.failed for run in runs)


def params_of(request: Request) -> dict:
    """The parameters that all runs share: those of the configuration or, for a baseline, those that it takes too."""
    (params,) = request.enqueue
    spec, name = spec_of(request.method), request.landscape.baseline
    if not name:
        return params | spec.landscape.fixed
    shared = names_of(spec.baselines[name].options)
    return {"baseline": name, **{key: value for key, value in params.items() if key in shared}}
