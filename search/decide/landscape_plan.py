"""Which runs a landscape has, and which can be started: those whose models are trained. Pure, as a policy is."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from seedwise.folder import run_name
from seedwise.search.decide.policy import Action, FromPlan, Stop, Wait
from seedwise.search.ledger.state import DONE, INTERRUPTED, RUNNING, Run, State
from seedwise.spaces import config_id, load
from seedwise.trainables.landscape.jobs import INITIAL, TRAIN, Job, Model, jobs
from seedwise.trainables.methods import spec_of
from seedwise.trainables.request import Request
from seedwise.trainables.training.options import names_of


@dataclass(frozen=True)
class Planned:
    """A job at a replicate, as a run of the ledger."""

    job: Job
    replicate: int
    config_id: str
    params: dict

    @property
    def name(self) -> str:
        return run_name(self.config_id, self.replicate)


@dataclass(frozen=True)
class Plan:
    """All runs of a landscape of the configuration `params`, in the order in which they are started."""

    params: dict
    targets: tuple[str, ...]
    options: dict  # `landscape` of the specification
    shared: bool  # the source model serves all targets

    @classmethod
    def of(cls, request: Request) -> "Plan":
        """From the specification of a landscape, which has one configuration."""
        targets, shared = tuple(request.task.targets), spec_of(request.method).landscape.shared
        return cls(params_of(request), targets, request.landscape.model_dump(), shared)

    @cached_property
    def runs(self) -> list[Planned]:
        found = []
        for job, replicate in jobs(list(self.targets), self.options, shared=self.shared):
            params = {**job.params(), **self.params}
            found.append(Planned(job, replicate, config_id(params), params))
        return found

    @cached_property
    def trained(self) -> dict[Model, Planned]:
        """The run that every model comes from."""
        trainings = (one for one in self.runs if one.job.landscape == TRAIN)
        return {Model(one.job.on, one.job.target, one.replicate): one for one in trainings}

    @cached_property
    def _planned(self) -> dict[str, Planned]:
        return {one.name: one for one in self.runs}

    def models(self, planned: Planned) -> list[Planned]:
        """The trainings that a run needs, in the order in which it takes their models."""
        return [self.trained[model] for model in planned.job.models(planned.replicate, shared=self.shared)]

    def needs(self, run: Run) -> list[str]:
        """The names of the products that a run takes."""
        return [one.name for one in self.models(self._planned[run.name])]

    def needed(self, state: State) -> set[str]:
        """The names of the products that runs without a result take, but for runs that a failed model keeps away."""
        left = [self.models(planned) for planned, run in self.with_runs(state) if run is None or not run.finished]
        failed = {one.name for one in self.trained.values() if (run := self.run_of(state, one)) and run.failed}
        return {one.name for models in left for one in models if not failed & {model.name for model in models}}

    def in_words(self) -> str:
        """What there is to do, for a dry run."""
        points = [len(one.job.points()) for one in self.runs if one.job.landscape != TRAIN]
        trained = sum(model.on != INITIAL for model in self.trained)
        return f"{trained} models, {sum(points)} points in {len(points)} runs"

    def next_action(self, state: State, *, more: bool = True) -> Action:
        """The first run whose models are there. One whose model failed is never started."""
        running, waiting, kept_away = False, False, False
        for planned, run in self.with_runs(state):
            if run is not None and run.status != INTERRUPTED:
                running |= run.status == RUNNING
                continue
            before = [self.run_of(state, one) for one in self.models(planned)]
            if all(one is not None and one.status == DONE for one in before):
                because = "it was running when the landscape stopped" if run else "its models are there"
                return FromPlan(planned.config_id, planned.replicate, because, planned.params)
            able = all(one is None or not one.finished or one.status == DONE for one in before)
            waiting, kept_away = waiting or able, kept_away or not able
        if waiting and running:
            return Wait()
        return Stop("what is left needs models that failed" if kept_away else "all points are evaluated")

    def beginning(self, state: State) -> int:
        """How many runs could be at work now."""
        ready = 0
        for planned, run in self.with_runs(state):
            before = [self.run_of(state, one) for one in self.models(planned)]
            able = all(one is not None and one.status == DONE for one in before)
            ready += able and not (run is not None and run.finished)
        return ready

    def with_runs(self, state: State) -> Iterator[tuple[Planned, Run | None]]:
        return ((planned, self.run_of(state, planned)) for planned in self.runs)

    @staticmethod
    def run_of(state: State, planned: Planned) -> Run | None:
        """What the ledger knows of a planned run."""
        known = state.configurations.get(planned.config_id)
        return known and known.runs.get(planned.replicate)


def params_of(request: Request) -> dict:
    """The method's own parameters of all runs: the one configuration, or what its baseline shares with it."""
    (params,) = request.enqueue
    own = load(request.method, request.space, request.compat).complete(params)
    spec, name = spec_of(request.method), request.landscape.baseline
    if not name:
        return own | spec.landscape.fixed
    shared = names_of(spec.baselines[name].options)
    return {"baseline": name, **{key: value for key, value in own.items() if key in shared}}
