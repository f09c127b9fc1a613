"""Runs the phases of a search: decides what one run occupies, then lets Ray Tune run until nothing is left to do."""

import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

from ray import tune
from rich.console import Console

from seedwise.errors import RequestError, SearchError
from seedwise.program import called
from seedwise.search.cluster.measure import measure, with_gpu_memory
from seedwise.search.cluster.nodes import Slots, nodes_now
from seedwise.search.cluster.placement import Need, Placement, measures, place
from seedwise.search.cluster.ray_internals import run_tune
from seedwise.search.decide.next_run import Decisions
from seedwise.search.decide.policy import WholeDeviceRetries
from seedwise.search.execution.messages import RunOrder
from seedwise.search.execution.session import Session, View
from seedwise.search.execution.shared_results import publish_known
from seedwise.search.execution.shutdown import Shutdown
from seedwise.search.execution.tune_adapters import LedgerSearcher, Pruner, Ticker
from seedwise.search.execution.worker import RunTrainable
from seedwise.search.ledger.file import Ledger
from seedwise.search.ledger.state import CONFIRM, INTERRUPTED, RUNNING, WAITING, State
from seedwise.search.ranking.estimator import Estimator
from seedwise.search.spec.schema import Specification


class Study(Protocol):
    """The part of a study that phases use. `search/studies/study.py`, in a later room, implements it."""

    specification: Specification

    def method(self) -> type: ...  # the class that all runs use

    def largest(self) -> dict: ...  # the parameters of the run that takes the most memory

    def total_runs(self, state: State) -> int | None: ...  # None if only hours limit them


@dataclass
class Phases:
    """Runs phases, each with new workers, so that workers of the search phase never hold a test set.

    `view` creates the display of a phase.
    """

    study: Study
    ledger: Ledger
    inputs: Any
    console: Console
    shutdown: Shutdown
    view: Callable[[State, Estimator, int | None], AbstractContextManager[View]]

    def __post_init__(self) -> None:
        self.specification, self.method = self.study.specification, self.study.method()
        self.placement = self.place()

    def place(self) -> Placement:
        """Decide what one run occupies, measuring it if `auto` requires that, and record the decision with its reason.

        A resumed search keeps its number of threads, since another number would change the last bits of its scores.
        An earlier measurement on the same kind of devices is reused.
        """
        resources, known, need = self.specification.resources, self.ledger.state.placement, None
        if known and resources.cpus_per_run == "auto":
            resources = resources.model_copy(update={"cpus_per_run": known["cpus"]})
        with self.console.status("measuring what one run needs"):
            nodes = nodes_now()
            if resources.gpus_per_run == "auto":
                nodes = with_gpu_memory(nodes)
            if measures(resources, nodes):
                if "need" in known and devices(known["nodes"]) == devices([asdict(node) for node in nodes]):
                    need = Need(**known["need"])
                else:
                    gpu = any(node.gpu_memory for node in nodes)
                    need = measure(self.specification, self.method, self.study.largest(), self.inputs, gpu=gpu)
        try:
            placement = place(resources, nodes, need)
        except RequestError as error:
            if not known:
                raise
            fix = "The search began with these resources: resume it on a node that has as much."
            raise RequestError(error.key, error.problem, fix) from error
        self.ledger.append(placement.event(nodes, need))
        gpu = f" and {placement.gpus:g} GPU" if placement.gpus else ""
        why = f" ({placement.because})" if placement.because else ""
        where = "" if len(nodes) == 1 else f" on {len(nodes)} nodes"
        slots = placement.slots(nodes)
        runs = f"{slots} runs at once" if slots != 1 else "1 run at a time"
        self.console.print(f"{runs}{where}, {placement.cpus} CPU{gpu} each{why}.", soft_wrap=True)
        return placement

    def run(self, decisions: Decisions) -> str:
        """Run a phase to its end, and return why it ended.

        After the last decision, runs that lost their worker start again, then runs that were out of memory in their
        share of a device get a whole device. Their results may lead to new decisions.
        """
        phase, tests = decisions.phase, {}
        if phase == CONFIRM:
            with self.console.status("reading the test sets"):
                tests = {"tests": self.method.prepare_test(self.specification)}
        while True:
            reason = self.tune(decisions, tests, self.placement)
            open_runs = {run.status for run in self.ledger.state.runs_of(phase) if not run.finished}
            if WAITING in open_runs and INTERRUPTED not in open_runs:
                placement = self.placement.whole(nodes_now()) or self.placement
                retries = replace(decisions, policy=WholeDeviceRetries(phase), baselines=None)
                self.tune(retries, tests, placement)
            elif RUNNING in open_runs:
                again = called("resume", self.ledger.path.parent)
                raise SearchError(f"a run has no result. Resume the search: {again}")
            elif not open_runs:
                return reason

    def tune(self, decisions: Decisions, tests: dict, placement: Placement) -> str:
        """Let Tune do the runs that `decisions` starts. Returns why no more were started."""
        state = self.ledger.state
        whole = self.placement.whole(nodes_now()) is not None
        decisions = replace(decisions, total=self.study.total_runs(state), whole_device=whole)
        publish_known(state, decisions.phase)
        trainable = tune.with_parameters(RunTrainable, method=self.method, inputs=self.inputs, **tests)
        with (
            tempfile.TemporaryDirectory(prefix="seedwise-") as folder,
            self.view(state, self.specification.parts.estimator, decisions.total) as view,
            Slots(placement) as slots,
        ):
            session = Session(self.ledger, decisions, slots, self.specification, self.shutdown, view)
            self.shutdown.graceful = True
            try:
                run_tune(
                    tune.with_resources(trainable, {"cpu": placement.cpus, "gpu": placement.gpus}),
                    folder,  # for Tune's own files, which nobody reads
                    name=f"session-{state.sessions}-{decisions.phase}",
                    search_alg=LedgerSearcher(session),
                    scheduler=Pruner(session),
                    num_samples=-1,
                    reuse_actors=True,
                    trial_dirname_creator=lambda trial: RunOrder.of(trial.config).name,
                    max_failures=0,  # the session restarts runs that lost their worker
                    checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=False),
                    callbacks=[Ticker(session)],
                    verbose=0,
                    raise_on_failed_trial=False,
                )
            finally:
                self.shutdown.graceful = False
            if self.shutdown.error:
                raise self.shutdown.error
            for trial_id in list(session.runs.by_trial):  # Tune has not reported their end
                session.record_loss(trial_id)
            if self.shutdown.requested:
                raise KeyboardInterrupt
        return self.shutdown.reason


def devices(nodes: list[dict]) -> set[tuple[int, int]]:
    """The sizes of memory, of GPUs and of machines, that a measurement depends on."""
    return {(node["gpu_memory"], node["memory"]) for node in nodes}
