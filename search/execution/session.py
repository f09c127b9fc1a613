"""One process's work on a phase of a search: from decisions to runs, and from what became of them to the ledger."""

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ray.exceptions import RayError

from seedwise.credentials import mask
from seedwise.errors import SearchError
from seedwise.files import write_atomically
from seedwise.folder import pictures_of
from seedwise.program import called
from seedwise.search.cluster.nodes import Slots, nodes_now
from seedwise.search.decide.next_run import Decisions
from seedwise.search.decide.policy import FRESH, Replicate, Stop, Wait
from seedwise.search.execution import heartbeat
from seedwise.search.execution.checkpoints import SavedStates
from seedwise.search.execution.in_flight import InFlight
from seedwise.search.execution.messages import Outcome, RunOrder, StepReport
from seedwise.search.execution.products import Products
from seedwise.search.execution.shared_results import TELLING, Same
from seedwise.search.execution.shutdown import Leaving
from seedwise.search.execution.watchdog import LOOKS, TIMEOUT, Watch
from seedwise.search.execution.worker_loss import (
    ALIKE,
    DIED,
    ENDED_AT_START,
    NO_IMPORT,
    NOT_STARTED,
    OUT_OF_MEMORY,
    RESTARTS,
    SILENT,
    gives_up,
)
from seedwise.search.ledger.state import CONFIRM, DONE, PRUNED, Ledger, Run, State

OOM = "failed:oom"
BEAT_SECONDS = 5.0  # how often a worker says that its process is alive; more often where silence is short


@dataclass
class Session:
    """One process's work on a phase of a search: it turns decisions into runs, and results into lines of the ledger."""

    ledger: Ledger
    phase: str
    decisions: Decisions
    slots: Slots
    specification: dict
    threads: int  # of each run
    products: Products | None = None  # what runs leave for others, where there is a plan
    can_wait: bool = True  # whether a run that is out of memory in its share could have a whole device later
    on_result: Callable[[Run], None] = lambda run: None
    because: str = ""  # why nothing more is started; empty while something is
    broken: SearchError | None = None  # why the ledger takes no more lines
    in_flight: dict[str, InFlight] = field(default_factory=dict)  # by Tune's trial
    leaving: Leaving = field(default_factory=Leaving)

    def __post_init__(self) -> None:
        search_id, folder = self.ledger.state.search["search_id"], self.ledger.path.parent
        self.key = session_key(self.ledger.state, self.phase)
        self.states = SavedStates(search_id, self.specification["checkpoints"]["at"], folder)
        resources = self.specification["resources"]
        self.watch = Watch(
            resources["minutes_per_run"] and resources["minutes_per_run"] * 60,
            resources["silent_minutes"] * 60,
            lambda name: heartbeat.last_beat(self.key, name),
        )

    def start_next(self, trial_id: str) -> RunOrder | Wait | None:
        """The next run; Wait where there is none now, None when nothing more is to be started."""
        if self.leaving.asked or self.broken:
            return None
        decision = self.decisions.next(self.ledger.state)
        for event in decision.events:
            self.write(event)
        if self.broken:
            return None
        if isinstance(decision.run, Wait):
            return decision.run
        if isinstance(decision.run, Stop):
            self.because = decision.run.because
            return None
        run = self.ledger.state.configurations[decision.run.config_id].runs[decision.run.replicate]
        plan = self.decisions.plan
        try:
            products = tuple(self.products.held(name) for name in plan.needs(run)) if plan else ()
        except SearchError as error:
            self.broken = error
            return None
        flight = self.in_flight[trial_id] = InFlight(run, products=products)
        flight.state = self.states.held(flight.name)
        heartbeat.forget(self.key, flight.name)
        return self.order(run, decision.run, len(products))

    def order(self, run: Run, decided: Replicate, products: int) -> RunOrder:
        """What a worker is told of a run."""
        configuration = self.ledger.state.configurations[run.config_id]
        return RunOrder(
            config_id=run.config_id,
            replicate=run.replicate,
            phase=decided.phase,
            params=configuration.params,
            vary=configuration.vary,
            seed=self.decisions.proposer.seed,
            session=self.key,
            workers=self.workers(),
            threads=self.threads,
            gpus=self.slots.placement.gpus,
            checkpoint_seconds=self.specification["checkpoints"]["seconds"],
            beat_seconds=min(BEAT_SECONDS, self.watch.silence / LOOKS),
            shelf=self.states.shared,
            recorded=next(step for step in itertools.count() if step + 1 not in run.steps),
            products=products,
            draws=decided.phase == CONFIRM and run.replicate == FRESH,
        )

    def begin(self, trial: Any) -> None:
        """A run has a worker: Tune's trial."""
        flight = self.in_flight[trial.trial_id]
        flight.begin(trial)
        self.watch.begin(trial.trial_id, flight.name, time.monotonic())

    def write(self, event: dict) -> None:
        """A line of the ledger. Tune would swallow an error here, so it is kept for `look_after`."""
        try:
            if not self.broken:
                self.ledger.append(event, durable=event["event"] != "step")
        except SearchError as error:
            self.broken = error

    def workers(self) -> int:
        """How many workers there will be: one per slot, unless fewer runs are left in this phase, or can begin now."""
        slots, most = self.slots.now(), self.decisions.beginning(self.ledger.state)
        return slots if most is None else min(slots, max(1, most))

    def record_step(self, trial_id: str, report: StepReport) -> bool:
        """Write what a run reported; True where it should end here."""
        flight = self.in_flight[trial_id]
        progress = {"step": report.epoch, "epochs": report.epochs, "metrics": report.metrics}
        self.write({"event": "step", **identity(flight.run), **progress})
        if report.state:
            self.states.keep(flight, self.watch.silence)
        if self.leaving.asked:
            return report.leaving  # the next step, if the worker had not heard of it yet
        flight.pruned = self.decisions.prunes(self.ledger.state, flight.run)
        return bool(flight.pruned)

    def record_result(self, trial_id: str, report: StepReport) -> None:
        """Write how a run ended. Idempotent: Tune may call twice."""
        flight = self.in_flight.get(trial_id)
        if flight is None or (self.products and report.product and not self.keep_product(trial_id, flight)):
            return
        del self.in_flight[trial_id]
        self.watch.end(trial_id, time.monotonic())
        if self.leaving.asked and report.status == DONE and report.epoch < report.epochs:
            return  # it was stopped with its state saved, and goes on when the search does
        run, status, error = flight.run, report.status, mask(report.error)  # which may quote an address
        if flight.pruned:
            status, error = PRUNED, flight.pruned
        elif status == DONE and (missing := self.missing(run, report)):
            status, error = "failed:error", missing
        if status == DONE and report.pictures:  # before the line that MLflow's follower goes by
            try:
                write_atomically(pictures_of(self.ledger.path.parent, run.config_id, run.replicate), report.pictures)
            except OSError as failure:  # a picture costs no run
                print(f"the pictures of {flight.name} were not kept: {failure.strerror}", flush=True)
        known = {"fingerprint": report.fingerprint, "same_as": report.same_as, "node": report.node}
        ended = {"status": status, "step": report.epoch, "metrics": report.metrics, "seconds": round(report.seconds, 3)}
        self.end(flight, {**ended, "error": error, **{key: value for key, value in known.items() if value}})

    def missing(self, run: Run, report: StepReport) -> str:
        """What a run that is done should have reported and did not; empty where it can be ranked, or never is."""
        selection = self.decisions.selection
        if self.ledger.state.configurations[run.config_id].baseline or selection.score(report.metrics) is not None:
            return ""
        name = next(name for name in selection.names if name not in report.metrics)
        return f"{name} was not reported, but {', '.join(report.metrics) or 'nothing'}"

    def keep_product(self, trial_id: str, flight: InFlight) -> bool:
        """Write what a run leaves for others, before the line that these are started by; whether that was done."""
        try:
            product = flight.handed_over(self.watch.silence)
        except (RayError, ConnectionError) as error:  # the worker died just now, or cannot send it
            flight.lost = f"what it made could not be fetched: {type(error).__name__}"
            self.record_loss(trial_id)
            return False
        try:
            self.products.keep(flight.name, product)
        except OSError as error:
            folder = self.ledger.path.parent
            told = f"{self.products.folder}: {error.strerror}. Make room there, then: {called('resume', folder)}"
            self.broken = self.broken or SearchError(told)
        return self.broken is None

    def record_loss(self, trial_id: str) -> None:
        """Write that a run lost its worker: it goes on elsewhere, unless that was its own doing too often."""
        flight = self.in_flight.pop(trial_id, None)
        if flight is None:
            return
        seconds = round(self.watch.end(trial_id, time.monotonic()), 3)
        if self.leaving.asked:
            return  # whoever told us to stop may have told the workers too: no fault of the run
        run, node, because = flight.run, heartbeat.node_of(self.key, flight.name), mask(flight.lost or DIED)
        if because == DIED and not node:  # it gave no sign of life
            because = ENDED_AT_START
        if because.startswith(NOT_STARTED) and self.none_starts(because):
            return
        ended = {"step": run.step, "metrics": run.metrics, "seconds": seconds}
        if because == TIMEOUT:
            limit = f"{self.specification['resources']['minutes_per_run']:g}"
            self.end(flight, {"status": TIMEOUT, **ended, "error": f"it took longer than {limit} minutes"})
        elif because == OUT_OF_MEMORY:
            self.end(flight, {"status": OOM, **ended, "error": because})
        elif gives_up((*run.losses, (because, node)), {known.id for known in nodes_now()}):
            error = f"the worker process died more often than it is restarted ({because})"
            self.end(flight, {"status": "failed:error", **ended, "error": error})
        else:
            self.write({"event": "lost", **identity(run), "because": because, "node": node})

    def none_starts(self, because: str) -> bool:
        """Whether no worker starts on any node, as where code is missing: the search then stops at the first run.

        Nothing is written of that run, so that it is started again when the search goes on.
        """
        runs = list(self.ledger.state.runs())
        failures = 1 + sum(before.startswith(NOT_STARTED) for run in runs for before, _ in run.losses)
        enough = max(len(nodes_now()), RESTARTS + 1 if because == ENDED_AT_START else 1)  # one may have been killed
        if any(run.steps or run.status == DONE for run in runs) or failures < enough:
            return False
        folder = self.ledger.state.search["folder"]
        cause, again = because.removeprefix(f"{NOT_STARTED}: "), called("resume", self.ledger.path.parent)
        self.broken = self.broken or SearchError(
            f"no run can start: {cause}. Install what is missing where runs are, or put it into {folder}. Then: {again}"
        )
        return True

    def stop_where_nothing_imports(self, error: str) -> None:
        """The search goes no further where all its runs ended with one failed import. Only some may need a package."""
        finished = [run for run in self.ledger.state.runs() if run.finished]
        several = len({run.config_id for run in finished}) >= ALIKE
        if several and all(run.error == error for run in finished):
            again = called("resume", self.ledger.path.parent)
            told = f"all {len(finished)} runs failed: {error}. Install what is missing where runs are. Then: {again}"
            self.broken = self.broken or SearchError(told)

    def end(self, flight: InFlight, ended: dict) -> None:
        """Write the result of a run; one that is out of memory in its share waits for a whole device instead, once."""
        run = flight.run
        if ended["status"] == OOM and self.can_wait and not run.alone:
            self.write({"event": "wait", **identity(run), "because": ended["error"]})
        else:
            alone = {"alone": True} if run.alone else {}
            self.write({"event": "result", **identity(run), "phase": run.phase, **ended, **alone})
            if ended["error"].startswith(NO_IMPORT):
                self.stop_where_nothing_imports(ended["error"])
            self.on_result(self.ledger.state.configurations[run.config_id].runs[run.replicate])
            if self.decisions.plan:
                self.products.release(self.decisions.plan.needed(self.ledger.state))
        self.states.shelf.remove(flight.name)

    def look_after(self) -> None:
        """Called in every turn of Tune's loop: ends what hangs, asks runs to save where we leave, says what broke."""
        if self.broken:
            raise self.broken
        now = time.monotonic()
        if self.leaving.asked:
            if now > self.leaving.by:
                raise KeyboardInterrupt
            if not self.leaving.announced:
                self.leaving.announced = True
                heartbeat.ask_to_leave(self.key)
        for trial_id, why in self.watch.look(now).items():
            self.in_flight[trial_id].kill(TIMEOUT if why == "timeout" else SILENT)


def identity(run: Run) -> dict:
    return {"config_id": run.config_id, "replicate": run.replicate}


def session_key(state: State, phase: str) -> str:
    """What the workers of one phase of one session of a search share, and no others."""
    return f"{state.search['search_id']}/{state.sessions}/{phase}"


def publish_known(state: State, phase: str) -> None:
    """Tell the workers of this session what earlier ones found: a run that does the same work takes it."""
    for run in state.runs_of(phase):
        if run.finished and run.fingerprint and run.status in TELLING:
            same = Same(session_key(state, phase), run.fingerprint, f"{run.config_id}/{run.replicate}")
            same.owner()
            for step, metrics in run.steps.items():
                seconds = run.seconds * step / run.step
                last = Outcome(run.status, run.error, metrics, seconds)
                same.publish(step - 1, last if step == run.step else Outcome(DONE, "", metrics, seconds))
