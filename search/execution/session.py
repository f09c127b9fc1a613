"""One process's work on a phase of a search: from decisions to runs, and from what became of them to the ledger."""

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from ray.exceptions import RayError

from seedwise.credentials import mask
from seedwise.errors import SearchError
from seedwise.program import called
from seedwise.search.cluster.nodes import Slots, nodes_now
from seedwise.search.decide.next_run import Decisions
from seedwise.search.decide.policy import FRESH, Replicate, Stop, Wait
from seedwise.search.execution import heartbeat
from seedwise.search.execution.checkpoints import SavedStates
from seedwise.search.execution.in_flight import InFlight, RunsInFlight
from seedwise.search.execution.messages import RunOrder, StepReport, session_key
from seedwise.search.execution.products import Products, RunFiles
from seedwise.search.execution.shutdown import Shutdown
from seedwise.search.execution.watchdog import LOOKS, TIMEOUT
from seedwise.search.execution.worker_loss import (
    ALIKE,
    DIED,
    ENDED_AT_START,
    NO_IMPORT,
    NOT_STARTED,
    OUT_OF_MEMORY,
    RESTARTS,
    lacks_module,
    lost_too_often,
)
from seedwise.search.ledger.state import CONFIRM, DONE, PRUNED, Ledger, Run

FAILED, OOM = "failed:error", "failed:oom"
BEAT_SECONDS = 5.0  # how often a worker says that its process is alive; more often where silence is short


@dataclass
class Session:
    """One process's work on a phase of a search: it turns decisions into runs, and results into lines of the ledger."""

    ledger: Ledger
    decisions: Decisions
    slots: Slots
    runs: RunsInFlight
    files: RunFiles
    order: Callable[..., RunOrder]  # of a run: what all orders have in common is in it already
    on_result: Callable[[Run], None] = lambda run: None
    shutdown: Shutdown = field(default_factory=Shutdown)
    # Of this session alone: whatever succeeded before a resume ran elsewhere.
    progressed: bool = False  # whether any run has completed a step
    failed_starts: int = 0  # of workers
    ended: list[Run] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        ledger: Ledger,
        decisions: Decisions,
        slots: Slots,
        specification: dict,
        products: Products | None = None,
        on_result: Callable[[Run], None] = lambda run: None,
    ) -> "Session":
        """From a resolved specification."""
        resources, checkpoints = specification["resources"], specification["checkpoints"]
        key, folder = session_key(ledger.state, decisions.phase), ledger.path.parent
        minutes, silence = resources["minutes_per_run"], resources["heartbeat_timeout_minutes"] * 60
        states = SavedStates(ledger.state.search["search_id"], checkpoints["path"], folder)
        order = partial(
            RunOrder,
            seed=decisions.proposer.seed,
            session=key,
            threads=ledger.state.placement["cpus"],  # also of a run that has a whole device
            gpus=slots.placement.gpus,
            checkpoint_seconds=checkpoints["seconds"],
            beat_seconds=min(BEAT_SECONDS, silence / LOOKS),
            shelf=states.shared,
        )
        runs = RunsInFlight(key, minutes and minutes * 60, silence)
        files = RunFiles(folder, states, products, decisions.plan)
        return cls(ledger, decisions, slots, runs, files, order, on_result)

    def start_next(self, trial_id: str) -> RunOrder | Wait | None:
        """The next run; Wait where there is none now, None when nothing more is to be started."""
        if self.shutdown.begun:
            return None
        decision = self.decisions.next(self.ledger.state)
        for event in decision.events:
            self.write(event)
        if self.shutdown.error:
            return None
        if isinstance(decision.run, Wait):
            return decision.run
        if isinstance(decision.run, Stop):
            self.shutdown.because = decision.run.because
            return None
        flight = InFlight(self.ledger.state.configurations[decision.run.config_id].runs[decision.run.replicate])
        try:
            self.files.load_inputs(flight)
        except SearchError as error:
            self.shutdown.fail(error)
            return None
        self.runs.start(trial_id, flight)
        return self.order_of(flight, decision.run)

    def order_of(self, flight: InFlight, decided: Replicate) -> RunOrder:
        """What a worker is told of a run."""
        run, configuration = flight.run, self.ledger.state.configurations[decided.config_id]
        return self.order(
            config_id=run.config_id,
            replicate=run.replicate,
            phase=decided.phase,
            params=configuration.params,
            vary=configuration.vary,
            workers=self.workers(),
            recorded=next(step for step in itertools.count() if step + 1 not in run.steps),
            products=len(flight.products),
            draws=decided.phase == CONFIRM and run.replicate == FRESH,
        )

    def write(self, event: dict) -> None:
        """A line of the ledger. Tune would swallow an error here, so it is kept for `look_after`."""
        try:
            if not self.shutdown.error:
                self.ledger.append(event, durable=event["event"] != "step")
        except SearchError as error:
            self.shutdown.fail(error)

    def workers(self) -> int:
        """How many workers there will be: one per slot, unless fewer runs are left in this phase, or can begin now."""
        slots, most = self.slots.now(), self.decisions.beginning(self.ledger.state)
        return slots if most is None else min(slots, max(1, most))

    def record_step(self, trial_id: str, report: StepReport) -> bool:
        """Write what a run reported; True where it should end here."""
        flight = self.runs.by_trial[trial_id]
        progress = {"step": report.epoch, "epochs": report.epochs, "metrics": report.metrics}
        self.progressed = True
        self.write({"event": "step", **identity(flight.run), **progress})
        if report.state:
            self.files.states.keep(flight, self.runs.watch.silence)
        if self.shutdown.asked:
            return report.leaving  # the next step, if the worker had not heard of it yet
        flight.pruned = self.decisions.prunes(self.ledger.state, flight.run)
        return bool(flight.pruned)

    def record_result(self, trial_id: str, report: StepReport) -> None:
        """Write how a run ended. Idempotent: Tune may call twice."""
        flight = self.runs.by_trial.get(trial_id)
        if flight is None or (self.files.products and report.product and not self.keep_product(trial_id, flight)):
            return
        self.runs.end(trial_id)
        self.progressed |= report.status == DONE
        if self.stops_without_module(report.error):
            return
        if self.shutdown.asked and report.status == DONE and report.epoch < report.epochs:
            return  # it was stopped with its state saved, and goes on when the search does
        run, status, error = flight.run, report.status, mask(report.error)  # which may quote an address
        if flight.pruned:
            status, error = PRUNED, flight.pruned
        elif status == DONE and (missing := self.missing(run, report)):
            status, error = FAILED, missing
        if status == DONE and report.pictures:  # before the line that MLflow's follower goes by
            self.files.keep_pictures(run, report.pictures)
        known = {"fingerprint": report.fingerprint, "same_as": report.same_as, "node": report.node}
        ended = {"status": status, "step": report.epoch, "metrics": report.metrics, "seconds": round(report.seconds, 3)}
        self.end(run, {**ended, "error": error, **{key: value for key, value in known.items() if value}})

    def missing(self, run: Run, report: StepReport) -> str:
        """What a run that is done should have reported and did not; empty where it can be ranked, or never is."""
        selection = self.decisions.selection
        if self.ledger.state.configurations[run.config_id].baseline or selection.score(report.metrics) is not None:
            return ""
        name = next(name for name in selection.names if name not in report.metrics)
        return f"{name} was not reported, but {', '.join(report.metrics) or 'nothing'}"

    def keep_product(self, trial_id: str, flight: InFlight) -> bool:
        """Write what a run leaves for others, before the line that these are started by; whether that was done."""
        products = self.files.products
        try:
            product = flight.fetch(self.runs.watch.silence)
        except (RayError, ConnectionError) as error:  # the worker died just now, or cannot send it
            flight.lost = f"what it made could not be fetched: {type(error).__name__}"
            self.record_loss(trial_id)
            return False
        try:
            products.keep(flight.name, product)
        except OSError as error:
            self.fail(f"{products.folder}: {error.strerror}. Make room there, then:")
        return self.shutdown.error is None

    def record_loss(self, trial_id: str) -> None:
        """Write that a run lost its worker: it goes on elsewhere, unless that was its own doing too often."""
        flight = self.runs.by_trial.get(trial_id)
        if flight is None:
            return
        seconds = round(self.runs.end(trial_id), 3)
        if self.shutdown.asked:
            return  # whoever told us to stop may have told the workers too: no fault of the run
        run, node, because = flight.run, self.runs.node_of(flight), mask(flight.lost or DIED)
        if because == DIED and not node:  # it had no heartbeat yet
            because = ENDED_AT_START
        if because.startswith(NOT_STARTED) and self.none_starts(because):
            return
        ended = {"step": run.step, "metrics": run.metrics, "seconds": seconds}
        if because == TIMEOUT:
            limit = f"{self.runs.watch.limit / 60:g}"
            self.end(run, {"status": TIMEOUT, **ended, "error": f"it took longer than {limit} minutes"})
        elif because == OUT_OF_MEMORY:
            self.end(run, {"status": OOM, **ended, "error": because})
        elif lost_too_often((*run.losses, (because, node)), {known.id for known in nodes_now()}):
            error = f"the worker process died more often than it is restarted ({because})"
            self.end(run, {"status": FAILED, **ended, "error": error})
        else:
            self.write({"event": "lost", **identity(run), "because": because, "node": node})

    def none_starts(self, because: str) -> bool:
        """Whether no worker starts on any node, as where code is missing: the search then stops at the first run.

        Nothing is written of that run, so that it is started again when the search goes on.
        """
        self.failed_starts += 1
        enough = max(len(nodes_now()), RESTARTS + 1 if because == ENDED_AT_START else 1)  # one may have been killed
        if self.progressed or self.failed_starts < enough:
            return False
        cause, folder = because.removeprefix(f"{NOT_STARTED}: "), self.ledger.state.search["folder"]
        self.fail(f"no run can start: {cause}. Install what is missing where runs are, or put it into {folder}. Then:")
        return True

    def stops_without_module(self, error: str) -> bool:
        """Whether a run lacks a module that this process lacks too: the search then stops at the first run.

        Nothing is written of that run, as in `none_starts`. Where an earlier session recorded this error beside other
        results, only some configurations need the module.
        """
        recorded = any(run.error == error for run in self.ledger.state.runs())
        if self.progressed or recorded or not lacks_module(error):
            return False
        self.fail(f"a run needs what is not installed: {error}. Install it here and where runs are. Then:")
        return True

    def stop_where_nothing_imports(self, error: str) -> None:
        """Stop where this process has what all runs lack. Other configurations may not need it, so three must fail."""
        several = len({run.config_id for run in self.ended}) >= ALIKE
        if several and all(run.error == error for run in self.ended):
            self.fail(f"all {len(self.ended)} runs failed: {error}. Install what is missing where runs are. Then:")

    def fail(self, problem: str) -> None:
        """The search cannot go on; `problem` ends where the command to resume it follows."""
        self.shutdown.fail(SearchError(f"{problem} {called('resume', self.ledger.path.parent)}"))

    def end(self, run: Run, ended: dict) -> None:
        """Write the result of a run; one that is out of memory in its share waits for a whole device instead, once."""
        if ended["status"] == OOM and self.decisions.whole_device and not run.alone:
            self.write({"event": "wait", **identity(run), "because": ended["error"]})
        else:
            alone = {"alone": True} if run.alone else {}
            self.write({"event": "result", **identity(run), "phase": run.phase, **ended, **alone})
            self.ended.append(run)
            if ended["error"].startswith(NO_IMPORT):
                self.stop_where_nothing_imports(ended["error"])
            self.on_result(run)
        self.files.release(run, self.ledger.state)

    def look_after(self) -> None:
        """Called in every turn of Tune's loop: ends what hangs, asks runs to save where we leave, says what broke."""
        if self.shutdown.error:
            raise self.shutdown.error
        if self.shutdown.asked:
            if time.monotonic() > self.shutdown.by:
                raise KeyboardInterrupt
            if not self.shutdown.announced:
                self.shutdown.announced = True
                heartbeat.ask_to_leave(self.runs.session)
        self.runs.kill_hung()


def identity(run: Run) -> dict:
    return {"config_id": run.config_id, "replicate": run.replicate}
