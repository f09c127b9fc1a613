"""Runs one phase of a search in one process: turns decisions into runs, and reports into lines of the ledger."""

import itertools
import time
from functools import partial
from typing import Protocol

from ray.exceptions import RayError

from seedwise.credentials import mask
from seedwise.errors import SearchError
from seedwise.folder import MODELS
from seedwise.program import called
from seedwise.search.cluster.nodes import Slots, nodes_now
from seedwise.search.decide.next_run import Decisions
from seedwise.search.decide.policy import FRESH, Stop, Wait
from seedwise.search.execution import coordination, worker_loss
from seedwise.search.execution.checkpoints import CheckpointStore
from seedwise.search.execution.in_flight import CHECKS, TIMEOUT, InFlight, RunsInFlight
from seedwise.search.execution.messages import RunOrder, StepReport, session_key
from seedwise.search.execution.products import Products, RunFiles
from seedwise.search.execution.shutdown import Shutdown
from seedwise.search.ledger.file import Ledger
from seedwise.search.ledger.state import COLLAPSED, CONFIRM, DONE, PRUNED, Run
from seedwise.search.spec.schema import Specification

FAILED, OOM = "failed:error", "failed:oom"
HEARTBEAT_SECONDS = 5.0  # between two heartbeats of a worker; less if the heartbeat timeout is short


class View(Protocol):
    """The display of a phase. `search/report/live.py`, in a later room, implements it."""

    def result(self, run: Run) -> None: ...  # the run has ended

    def tick(self) -> None: ...  # in every turn of Tune's loop, so it must be cheap

    def say(self, text: str) -> None: ...  # prints one line that stays on the screen


class Session:
    """The work of one process on one phase of a search."""

    def __init__(
        self,
        ledger: Ledger,
        decisions: Decisions,
        slots: Slots,
        specification: Specification,
        shutdown: Shutdown,
        view: View,
    ):
        self.ledger, self.decisions, self.slots, self.shutdown, self.view = ledger, decisions, slots, shutdown, view
        # These three count this session only: before a resume, the search may have run on other machines.
        self.progressed = False  # whether any run has completed a step
        self.failed_starts = 0  # workers that could not start
        self.ended: list[Run] = []
        resources, checkpoints = specification.resources, specification.checkpoints
        key, folder = session_key(ledger.state, decisions.phase), ledger.path.parent
        minutes, silence = resources.minutes_per_run, resources.heartbeat_timeout_minutes * 60
        self.runs = RunsInFlight(key, minutes and minutes * 60, silence)
        path = checkpoints.path
        shared = f"{path.rstrip('/')}/{ledger.state.search['search_id']}" if path else ""
        store = CheckpointStore(shared or str(folder.resolve() / "checkpoints"))
        self.files = RunFiles(folder, store, bool(shared), Products(folder / MODELS), decisions.plan)
        self.order = partial(  # the fields that are equal in the orders of all runs
            RunOrder,
            seed=specification.seed,
            session=key,
            threads=ledger.state.placement["cpus"],  # also for a run that gets a whole device
            gpus=slots.placement.gpus,
            checkpoint_seconds=checkpoints.seconds,
            heartbeat_seconds=min(HEARTBEAT_SECONDS, silence / CHECKS),
            checkpoint_store=shared,
        )

    def start_next(self, trial_id: str) -> RunOrder | Wait | None:
        """Start the next run and return its order. Wait if no run can start now, None if no more will."""
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
            self.shutdown.reason = decision.run.because
            return None
        configuration = self.ledger.state.configurations[decision.run.config_id]
        flight = InFlight(run := configuration.runs[decision.run.replicate])
        try:
            self.files.load_inputs(flight)
        except SearchError as error:
            self.shutdown.fail(error)
            return None
        self.runs.add(trial_id, flight)
        return self.order(
            config_id=run.config_id,
            replicate=run.replicate,
            phase=run.phase,
            params=configuration.params,
            vary=configuration.vary,
            workers=self.workers(),
            recorded=next(step for step in itertools.count() if step + 1 not in run.steps),
            products=len(flight.products),
            draw=run.phase == CONFIRM and run.replicate == FRESH,
        )

    def write(self, event: dict) -> None:
        """Write a line of the ledger. `on_turn` raises an error of this later, since Tune would swallow it here."""
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
        """Record a step of a run. Returns whether the run should end now."""
        flight = self.runs.by_trial[trial_id]
        progress = {"step": report.epoch, "epochs": report.epochs, "metrics": report.metrics}
        self.progressed = True
        self.write({"event": "step", **identity(flight.run), **progress})
        if report.has_checkpoint:
            self.files.fetch_checkpoint(flight, self.runs.silence)
        if self.shutdown.requested:
            return report.stopping  # a worker that has not seen the request yet saves its state after the next step
        flight.pruned = self.decisions.prunes(self.ledger.state, flight.run)
        return bool(flight.pruned)

    def record_result(self, trial_id: str, report: StepReport) -> None:
        """Record how a run ended. Tune may call this twice: the second call does nothing."""
        flight = self.runs.by_trial.get(trial_id)
        if flight is None or (report.has_product and not self.keep_product(trial_id, flight)):
            return
        self.runs.remove(trial_id)
        self.progressed |= report.status == DONE
        if self.module_is_missing(report.error):
            return
        if self.shutdown.requested and report.status == DONE and report.epoch < report.epochs:
            return  # its state is saved: the run continues when the search is resumed
        run, status, error = flight.run, report.status, mask(report.error)  # an error may quote an address
        if flight.pruned:
            status, error = PRUNED, flight.pruned
        elif status in (DONE, COLLAPSED) and (missing := self.missing(run, report)):
            status, error = FAILED, missing
        if status == DONE and report.pictures:  # MLflow's follower expects them once it reads the line of the result
            self.files.keep_pictures(run, report.pictures)
        known = {"fingerprint": report.fingerprint, "same_as": report.same_as, "node": report.node}
        ended = {"status": status, "step": report.epoch, "metrics": report.metrics, "seconds": round(report.seconds, 3)}
        self.end(run, {**ended, "error": error, **{key: value for key, value in known.items() if value}})

    def missing(self, run: Run, report: StepReport) -> str:
        """Why a run that is done cannot be ranked. Empty if it can, and for baselines, which are never ranked."""
        selection = self.decisions.selection
        if self.ledger.state.configurations[run.config_id].baseline or selection.score(report.metrics) is not None:
            return ""
        name = next(name for name in selection.names if name not in report.metrics)
        return f"the run reported {', '.join(report.metrics) or 'nothing'} but not {name}, which ranks"

    def keep_product(self, trial_id: str, flight: InFlight) -> bool:
        """Save the product of a run before its result is recorded, since runs that need it start after that."""
        products = self.files.products
        try:
            product = flight.fetch_output(self.runs.silence)
        except (RayError, ConnectionError) as error:  # the worker died just now, or cannot send it
            flight.lost = worker_loss.Loss(f"its product could not be fetched: {type(error).__name__}")
            self.record_loss(trial_id)
            return False
        try:
            products.save(flight.run.name, product)
        except OSError as error:
            self.fail(f"{products.folder}: {error.strerror}. Make room there, then:")
        return self.shutdown.error is None

    def record_loss(self, trial_id: str) -> None:
        """Record that a run lost its worker. The run continues on another, unless it has lost too many."""
        flight = self.runs.by_trial.get(trial_id)
        if flight is None:
            return
        seconds = round(self.runs.remove(trial_id), 3)
        if self.shutdown.requested:
            return  # the workers may have got the same signal: it is not the fault of the run
        run, loss = flight.run, flight.lost or worker_loss.Loss(worker_loss.DIED)
        node = coordination.node_of(self.runs.session, run.name)
        if loss.reason == worker_loss.DIED and not node:  # no heartbeat yet
            loss = worker_loss.ENDED_AT_START
        if loss.at_start and self.no_worker_starts(loss):
            return
        reason = loss.reason
        ended = {"step": run.step, "metrics": run.metrics, "seconds": seconds}
        if reason == TIMEOUT:
            limit = f"{self.runs.limit / 60:g}"
            self.end(run, {"status": TIMEOUT, **ended, "error": f"it took longer than {limit} minutes"})
        elif reason == worker_loss.OUT_OF_MEMORY:
            self.end(run, {"status": OOM, **ended, "error": reason})
        elif worker_loss.lost_too_often((*run.losses, (reason, node)), {known.id for known in nodes_now()}):
            error = f"its worker was lost {len(run.losses) + 1} times ({reason})"
            self.end(run, {"status": FAILED, **ended, "error": error})
        else:
            self.write({"event": "lost", **identity(run), "because": reason, "node": node})

    def no_worker_starts(self, loss: worker_loss.Loss) -> bool:
        """Stop the search if no node can start a worker, for example if code is missing. Returns whether it stops.

        The run is not recorded as lost or failed, so that it starts when the search is resumed.
        """
        self.failed_starts += 1
        killed = loss == worker_loss.ENDED_AT_START  # may have happened by chance
        enough = max(len(nodes_now()), worker_loss.RESTARTS + 1 if killed else 1)
        if self.progressed or self.failed_starts < enough:
            return False
        fix = f"Install what is missing on the nodes, or put it into {self.ledger.state.search['folder']}. Then:"
        self.fail(f"no run can start: {loss.at_start}. {fix}")
        return True

    def module_is_missing(self, error: str) -> bool:
        """Stop the search at the first run that lacks a module, if this process lacks it too. Returns whether it stops.

        Nothing is recorded, as in `no_worker_starts`. If an earlier session recorded this error, and the search went
        on, only some configurations need the module.
        """
        if self.progressed or not worker_loss.lacks_module(error):
            return False
        if any(run.error == error for run in self.ledger.state.runs()):
            return False
        self.fail(f"a run needs a missing module: {error}. Install it here and on the nodes. Then:")
        return True

    def check_imports(self, error: str) -> None:
        """Stop the search if only workers lack a module: all runs that ended, of three configurations, have this error.

        Fewer configurations prove nothing, since other configurations may not need the module.
        """
        several = len({run.config_id for run in self.ended}) >= worker_loss.SAME_IMPORT_ERRORS
        if several and all(run.error == error for run in self.ended):
            self.fail(f"all {len(self.ended)} runs failed: {error}. Install what is missing on the nodes. Then:")

    def fail(self, problem: str) -> None:
        """Stop the search, which cannot continue. The command that resumes it is added to `problem`."""
        self.shutdown.fail(SearchError(f"{problem} {called('resume', self.ledger.path.parent)}"))

    def end(self, run: Run, ended: dict) -> None:
        """Record the result of a run. If it was out of memory in its share of a device, it waits for a whole device."""
        if ended["status"] == OOM and self.decisions.whole_device and not run.alone:
            self.write({"event": "wait", **identity(run), "because": ended["error"]})
        else:
            alone = {"alone": True} if run.alone else {}
            self.write({"event": "result", **identity(run), "phase": run.phase, **ended, **alone})
            self.ended.append(run)
            if ended["error"].startswith(worker_loss.IMPORT_ERRORS):
                self.check_imports(ended["error"])
            self.view.result(run)
        self.files.release(run, self.ledger.state)

    def on_turn(self) -> None:
        """Redraw, end hung runs, pass on a request to stop, raise errors. Called in every turn of Tune's loop."""
        stop = self.shutdown
        if stop.error:
            raise stop.error
        self.view.tick()
        if stop.requested:
            left = stop.deadline - time.monotonic()
            if left < 0:
                raise KeyboardInterrupt
            if not stop.announced:
                stop.announced = True
                self.view.say(f"stopping: running epochs have {left:.0f} s to end and be saved; repeat to quit at once")
                coordination.request_stop(self.runs.session)
        for flight, reason in self.runs.hung():
            flight.kill(reason)
        self.slots.request(self.decisions.left(self.ledger.state))


def identity(run: Run) -> dict:
    return {"config_id": run.config_id, "replicate": run.replicate}
