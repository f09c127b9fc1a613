"""The phases of a search: place its runs, then let Ray Tune run what is decided until nothing is left."""

import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ray import tune
from rich.console import Console

from seedwise.errors import RequestError, SearchError
from seedwise.program import called
from seedwise.search.cluster.measure import measure, with_gpu_memory
from seedwise.search.cluster.nodes import Slots, nodes_now
from seedwise.search.cluster.placement import Need, Placement, measures, place
from seedwise.search.cluster.ray_internals import run_tune
from seedwise.search.decide.baselines import Baselines
from seedwise.search.decide.next_run import Decider, Decisions, freeze
from seedwise.search.decide.policy import Confirmation, WholeDeviceRetries
from seedwise.search.execution.messages import RunOrder
from seedwise.search.execution.session import Session, View
from seedwise.search.execution.shared_results import publish_known
from seedwise.search.execution.shutdown import Shutdown
from seedwise.search.execution.tune_adapters import LedgerSearcher, Pruner, Ticker
from seedwise.search.execution.worker import RunTrainable
from seedwise.search.ledger.state import CONFIRM, INTERRUPTED, PLANNED, RUNNING, SEARCH, WAITING, Ledger, State
from seedwise.search.ranking.estimator import Estimator
from seedwise.search.spec.schema import Specification


@dataclass
class Phases:
    """Search and confirmation, each with workers of its own: those of the search never hold a test set.

    A landscape has one phase, in which a plan takes the place of the policy. `view` makes what shows a phase.
    """

    specification: Specification
    ledger: Ledger
    folder: Path
    method: type
    inputs: Any
    console: Console
    shutdown: Shutdown
    view: Callable[[State, Estimator, int | None], AbstractContextManager[View]]

    def __post_init__(self) -> None:
        self.parts = self.specification.parts
        self.plan = self.parts.plan
        self.placement = self.place()

    def place(self) -> Placement:
        """Decide what one run occupies, measure where that is asked for, and record what was decided and why.

        A resumed search keeps its number of threads, or its scores would change in their last bits. What was measured
        on the same devices is not measured again.
        """
        resources, known, need = self.parts.resolved["resources"], self.ledger.state.placement, None
        if known and resources["cpus_per_run"] == "auto":
            resources = {**resources, "cpus_per_run": known["cpus"]}
        with self.console.status("measuring what one run needs"):
            nodes = nodes_now()
            if resources["gpus_per_run"] == "auto":
                nodes = with_gpu_memory(nodes)
            if measures(resources, nodes):
                if "need" in known and devices(known["nodes"]) == devices([asdict(node) for node in nodes]):
                    need = Need(**known["need"])
                else:
                    gpu = any(node.gpu_memory for node in nodes)
                    need = measure(self.specification, self.method, self.inputs, gpu=gpu)
        try:
            placement = place(resources, nodes, need)
        except RequestError as error:
            if not known:
                raise
            fix = "The search began with these resources: resume it where a node has as much."
            raise RequestError(error.key, error.problem, fix) from error
        self.ledger.append(placement.event(nodes, need))
        gpu = f" and {placement.gpus:g} GPU" if placement.gpus else ""
        why = f" ({placement.because})" if placement.because else ""
        where = "" if len(nodes) == 1 else f" on {len(nodes)} nodes"
        self.console.print(
            f"{placement.slots(nodes)} runs at once{where}, {placement.cpus} CPU{gpu} each{why}.", soft_wrap=True
        )
        return placement

    def run_all(self) -> None:
        """Run what is left of all phases. The configurations to confirm are chosen between the two of a search."""
        state, parts = self.ledger.state, self.parts
        if self.plan:
            if not state.stopped:
                self.ledger.append({"event": "freeze", "because": self.run(PLANNED, self.plan), "configs": []})
            return
        confirm = self.specification.replicates.confirm
        if not state.stopped:
            reason = self.run(SEARCH, parts.policy, parts.baselines)
            self.ledger.append(freeze(state, parts.estimator, reason, confirm.top))
        if state.frozen:
            self.run(CONFIRM, Confirmation(confirm.fresh))

    def run(self, phase: str, decider: Decider, baselines: Baselines | None = None) -> str:
        """Run a phase to its end and return why it stopped.

        Runs that lost their worker after the last decision start again; then runs that were out of memory in their
        share get a whole device; what comes of them may lead to new decisions.
        """
        tests = {}
        if phase == CONFIRM:
            with self.console.status("reading the test sets"):
                tests = {"tests": self.method.prepare_test(self.specification)}
        while True:
            reason = self.tune(phase, decider, baselines, tests, self.placement)
            open_runs = {run.status for run in self.ledger.state.runs_of(phase) if not run.finished}
            if WAITING in open_runs and INTERRUPTED not in open_runs:
                placement = self.placement.whole(nodes_now()) or self.placement
                self.tune(phase, WholeDeviceRetries(phase), None, tests, placement)
            elif RUNNING in open_runs:
                raise SearchError(f"a run has no result. Resume the search: {called('resume', self.folder)}")
            elif not open_runs:
                return reason

    def tune(self, phase: str, decider: Decider, baselines: Baselines | None, tests: dict, placement: Placement) -> str:
        """Let Tune run what is decided, and return why it stopped."""
        state = self.ledger.state
        total = self.parts.total_runs(state)
        publish_known(state, phase)
        trainable = tune.with_parameters(RunTrainable, method=self.method, inputs=self.inputs, **tests)
        with (
            tempfile.TemporaryDirectory(prefix="seedwise-") as folder,
            self.view(state, self.parts.estimator, total) as view,
            Slots(placement) as slots,
        ):
            decisions = Decisions(
                phase,
                decider,
                self.parts.proposer,
                baselines,
                self.specification.prune,
                self.plan,
                total,
                reserved=self.parts.policy.reserve if phase == SEARCH else 0,
                whole_device=self.placement.whole(nodes_now()) is not None,
            )
            session = Session(self.ledger, decisions, slots, self.parts.resolved, self.shutdown, view)
            self.shutdown.graceful = True
            try:
                run_tune(
                    tune.with_resources(trainable, {"cpu": placement.cpus, "gpu": placement.gpus}),
                    folder,  # for Tune's own files, which nobody reads
                    name=f"session-{state.sessions}-{phase}",
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
    """What a measurement depends on: the memory of GPUs and of machines."""
    return {(node["gpu_memory"], node["memory"]) for node in nodes}
