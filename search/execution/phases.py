"""The phases of a search: what one run occupies, and Tune runs what is decided until nothing is left."""

import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from rich.console import Console

from seedwise.errors import RequestError, SearchError
from seedwise.program import called
from seedwise.search.cluster.measure import measure, with_gpu_memory
from seedwise.search.cluster.nodes import Slots, nodes_now
from seedwise.search.cluster.placement import Need, Placement, measures, place
from seedwise.search.cluster.ray_internals import run_tune
from seedwise.search.decide.baselines import Baselines
from seedwise.search.decide.landscape_plan import Plan
from seedwise.search.decide.next_run import Decider, Decisions, freeze
from seedwise.search.decide.policy import Confirmation
from seedwise.search.decide.whole_device import Alone
from seedwise.search.execution.products import Products
from seedwise.search.execution.shutdown import Leaver
from seedwise.search.execution.view import View
from seedwise.search.ledger.state import CONFIRM, INTERRUPTED, RUNNING, SEARCH, WAITING, Ledger, State
from seedwise.search.ranking.estimator import Estimator
from seedwise.search.spec.schema import Specification


@dataclass
class Phases:
    """The two phases of a search, each with workers of its own: those of the first never hold a test set."""

    specification: Specification
    ledger: Ledger
    folder: Path
    method: type
    inputs: Any
    console: Console
    leaver: Leaver
    view: Callable[[State, Estimator, int | None], View]  # of a phase, for people

    plan: ClassVar[Plan | None] = None  # those of a landscape, which has one phase
    products: ClassVar[Products | None] = None

    def __post_init__(self) -> None:
        self.parts = self.specification.parts
        self.resolved = self.parts.resolved
        self.confirm = self.specification.replicates.confirm
        self.estimator = self.parts.estimator
        self.placement = self.place()

    def place(self) -> Placement:
        """Decide what one run occupies, measuring where that is asked for, and write down what was decided and why.

        A search that goes on keeps its threads, or its scores would change in their last bits; what was measured on the
        same devices is not measured again.
        """
        resources, known, need = self.resolved["resources"], self.ledger.state.placement, None
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
                    need = measure(
                        self.specification, self.method, self.inputs, gpu=any(node.gpu_memory for node in nodes)
                    )
        try:
            placement = place(resources, nodes, need)
        except RequestError as error:
            if not known:
                raise
            fix = "This search has begun so: resume it where a node has as much."
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
        """The search, the choice of what is confirmed, the confirmation."""
        if not self.ledger.state.stopped:
            because = self.run(SEARCH)
            self.ledger.append(freeze(self.ledger.state, self.estimator, because, self.confirm.top))
        if self.ledger.state.frozen:
            self.run(CONFIRM)

    def decider(self, phase: str) -> tuple[Decider, Baselines | None]:
        """Who decides over a phase, and the baselines that come after it."""
        if phase == CONFIRM:
            return Confirmation(self.confirm.fresh), None
        return self.parts.policy, self.parts.baselines

    def total(self) -> int | None:
        """How many runs there will be in all; None where only hours bound them."""
        return self.parts.total_runs(self.ledger.state)

    def run(self, phase: str) -> str:
        """Run what is decided in a phase to its end and return why it stopped.

        Runs that lost their worker when nothing more was to be started are started again; then those that were out of
        memory in their share get a whole device; and with what came of them it is decided once more.
        """
        tests = {}
        if phase == CONFIRM:
            with self.console.status("reading the test sets"):
                tests = {"tests": self.method.prepare_test(self.specification)}
        while True:
            because = self.tune(phase, *self.decider(phase), tests, self.placement)
            open_runs = {run.status for run in self.ledger.state.runs_of(phase) if not run.finished}
            if WAITING in open_runs and INTERRUPTED not in open_runs:
                self.tune(phase, Alone(phase), None, tests, self.placement.whole(nodes_now()) or self.placement)
            elif RUNNING in open_runs:
                raise SearchError(f"a run was left without a result. Go on: {called('resume', self.folder)}")
            elif not open_runs:
                return because

    def tune(self, phase: str, policy: Decider, baselines: Baselines | None, tests: dict, placement: Placement) -> str:
        """Let Tune run what a policy decides, on the Ray that is there, and return why it stopped."""
        from ray import tune

        from seedwise.search.execution.messages import RunOrder
        from seedwise.search.execution.session import Session
        from seedwise.search.execution.shared_results import publish_known
        from seedwise.search.execution.tune_adapters import LedgerSearcher, Pruner, Ticker
        from seedwise.search.execution.worker import RunTrainable

        publish_known(self.ledger.state, phase)
        total = self.total()
        trainable = tune.with_parameters(RunTrainable, method=self.method, inputs=self.inputs, **tests)
        with (
            tempfile.TemporaryDirectory(prefix="seedwise-") as folder,
            self.view(self.ledger.state, self.estimator, total) as view,
            Slots(placement) as slots,
        ):
            decisions = Decisions(
                phase,
                policy,
                self.parts.proposer,
                baselines,
                self.specification.prune,
                self.plan,
                total,
                reserved=self.parts.policy.reserve if phase == SEARCH else 0,
                whole_device=self.placement.whole(nodes_now()) is not None,
            )
            session = Session.of(self.ledger, decisions, slots, self.resolved, self.products, view.result)
            with self.leaver.of(session.shutdown):
                run_tune(
                    tune.with_resources(trainable, {"cpu": placement.cpus, "gpu": placement.gpus}),
                    folder,  # for Tune's own files, which nobody reads
                    name=f"session-{self.ledger.state.sessions}-{phase}",
                    search_alg=LedgerSearcher(session),
                    scheduler=Pruner(session),
                    num_samples=-1,
                    reuse_actors=True,
                    trial_dirname_creator=lambda trial: RunOrder.of(trial.config).name,
                    max_failures=0,  # a run that lost its worker is ours to start again
                    checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=False),
                    callbacks=[Ticker(view, session)],
                    verbose=0,
                    raise_on_failed_trial=False,
                )
            if session.shutdown.error:
                raise session.shutdown.error
            for trial_id in list(session.runs.by_trial):  # of whose end Tune has said nothing
                session.record_loss(trial_id)
            if session.shutdown.asked:
                raise KeyboardInterrupt
        return session.shutdown.because


def devices(nodes: list[dict]) -> set[tuple[int, int]]:
    """What a measurement depends on: the memory of GPUs and of machines that there are."""
    return {(node["gpu_memory"], node["memory"]) for node in nodes}
