"""One process's work on a phase of a search: from decisions to runs, and from what became of them to the ledger."""

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import ray
from ray.exceptions import RayError

from seedwise.credentials import mask
from seedwise.errors import SearchError
from seedwise.files import write_atomically
from seedwise.folder import pictures_of, run_name
from seedwise.program import called
from seedwise.search.cluster.nodes import Slots, nodes_now
from seedwise.search.cluster.ray_internals import worker_of
from seedwise.search.decide.baselines import Baselines
from seedwise.search.decide.landscape_plan import Plan
from seedwise.search.decide.next_run import Decider, next_run
from seedwise.search.decide.policy import FRESH, Stop, Wait
from seedwise.search.decide.proposal import Proposer
from seedwise.search.decide.pruning import prunes
from seedwise.search.execution import heartbeat
from seedwise.search.execution.checkpoints import Shelf
from seedwise.search.execution.products import Products
from seedwise.search.execution.shared_results import TELLING, Same
from seedwise.search.execution.watchdog import LOOKS, TIMEOUT, Watch
from seedwise.search.execution.worker_loss import DIED, NOT_STARTED, OUT_OF_MEMORY, SILENT, gives_up
from seedwise.search.ledger.state import CONFIRM, DONE, PRUNED, Ledger, Run, State

OOM = "failed:oom"
BEAT_SECONDS = 5.0  # how often a worker says that its process is alive; more often where silence is short


@dataclass
class Session:
    """One process's work on a phase of a search: it turns decisions into runs, and results into lines of the ledger."""

    ledger: Ledger
    phase: str
    policy: Decider
    proposer: Proposer
    slots: Slots
    threads: int  # of each run
    resources: dict  # of the specification
    checkpoints: dict  # of the specification
    total: int | None = None  # runs in all, where that is known
    reserved: int = 0  # of these: for the confirmation, which begins when this phase is over
    prune: str = "off"
    plan: Plan | None = None  # of runs that need others: who needs whom
    products: Products | None = None  # what runs leave for others
    baselines: Baselines | None = None
    passing: bool = False  # ends where no node fits, rather than to wait for one
    can_wait: bool = True  # whether a run that is out of memory in its share could have a whole device later
    on_result: Callable[[Run], None] = lambda run: None
    because: str = ""  # why nothing more is started; empty while something is
    in_flight: dict[str, Run] = field(default_factory=dict)
    cut: dict[str, str] = field(default_factory=dict)  # runs that were pruned, and why
    lost: dict[str, str] = field(default_factory=dict)  # runs whose worker is gone, or was ended by us, and why
    leave_by: float | None = None  # when this process ends, whatever still runs then; None: it goes on
    told: bool = False  # the workers know that it ends
    broken: SearchError | None = None  # why the ledger takes no more lines
    trials: dict[str, object] = field(default_factory=dict)  # Tune's, of the runs that have a worker
    given: dict[str, tuple] = field(default_factory=dict)  # state and products of runs that have none yet

    def __post_init__(self) -> None:
        self.key = session_key(self.ledger.state, self.phase)
        at = self.checkpoints["at"]
        self.shared = f"{at.rstrip('/')}/{self.ledger.state.search['search_id']}" if at else ""
        self.shelf = Shelf(self.shared or str(self.ledger.path.parent.resolve() / "checkpoints"))
        limit = self.resources["minutes_per_run"]
        self.watch = Watch(
            limit and limit * 60,
            self.resources["silent_minutes"] * 60,
            lambda name: heartbeat.last_beat(self.key, name),
        )

    def start_next(self, trial_id: str) -> dict | None:
        """The configuration of the next run; empty where there is none now, None when nothing more is to be started."""
        if self.leave_by is not None or self.broken:
            return None
        decision = next_run(self.ledger.state, self.policy, self.proposer, self.baselines)
        for event in decision.events:
            self.write(event)
        if self.broken:
            return None
        if isinstance(decision.run, Wait):
            return {}
        if isinstance(decision.run, Stop):
            self.because = decision.run.because
            return None
        config_id, replicate = decision.run.config_id, decision.run.replicate
        configuration = self.ledger.state.configurations[config_id]
        run = configuration.runs[replicate]
        try:
            products = [self.products.held(name) for name in self.plan.needs(run)] if self.plan else []
        except SearchError as error:
            self.broken = error
            return None
        self.in_flight[trial_id] = run
        self.given[trial_id] = None if self.shared else self.held(run), products
        heartbeat.forget(self.key, name_of(run))
        return {
            "config_id": config_id,
            "replicate": replicate,
            "phase": decision.run.phase,
            "draws": decision.run.phase == CONFIRM and replicate == FRESH,
            "vary": configuration.vary,
            "params": configuration.params,
            "seed": self.proposer.seed,
            "session": self.key,
            "workers": self.workers(),
            "threads": self.threads,
            "gpus": self.slots.placement.gpus,
            "checkpoint_seconds": self.checkpoints["seconds"],
            "beat_seconds": min(BEAT_SECONDS, self.watch.silence / LOOKS),
            "shelf": self.shared,
            "told": next(step for step in itertools.count() if step + 1 not in run.steps),  # without a gap
            "products": len(products),
        }

    def held(self, run: Run) -> ray.ObjectRef | None:
        """The saved state of a run for its worker, if there is one that can be had."""
        try:
            state = self.shelf.load(name_of(run))
            return state and ray.put(state)
        except (OSError, RayError) as error:
            print(f"the state of {name_of(run)} cannot be used: {type(error).__name__}", flush=True)
            return None

    def hand_in(self, trial_id: str) -> None:
        """Give a worker what its run begins with. Tune asks it for its first step after this."""
        state, products = self.given.pop(trial_id)
        if state is not None or products:
            worker_of(self.trials[trial_id]).hand_in.remote(state, *products)

    def write(self, event: dict) -> None:
        """A line of the ledger. Tune would swallow an error here, so it is kept for `look_after`."""
        try:
            if not self.broken:
                self.ledger.append(event, durable=event["event"] != "step")
        except SearchError as error:
            self.broken = error

    def workers(self) -> int:
        """How many workers there will be: one per slot, unless fewer runs are left in this phase, or can begin now."""
        if self.plan:
            most = self.plan.beginning(self.ledger.state)
        elif self.total is not None:
            most = self.left() - self.reserved
        else:
            return self.slots.now()
        return min(self.slots.now(), max(1, most))

    def left(self) -> int | None:
        """How many runs are not done yet; None where only hours bound them."""
        return None if self.total is None else max(0, self.total - self.ledger.state.results)

    def record_step(self, trial_id: str, result: dict) -> bool:
        """Write what a run reported; True where it should end here."""
        run = self.in_flight[trial_id]
        event = {"event": "step", "config_id": run.config_id, "replicate": run.replicate, "step": result["epoch"]}
        self.write({**event, "epochs": result["epochs"], "metrics": metrics_of(result)})
        if result["state"]:
            self.keep_state(run, trial_id)
        if self.leave_by is not None:
            return bool(result["leaving"])  # the next step, if the worker had not heard of it yet
        if self.ledger.state.configurations[run.config_id].baseline:
            return False
        reason = prunes(self.prune, self.ledger.state, self.proposer.standing.selection, run)
        if reason:
            self.cut[trial_id] = reason
        return bool(reason)

    def keep_state(self, run: Run, trial_id: str) -> None:
        """Take the state that a worker has saved from its node to the search folder."""
        try:
            self.shelf.save(name_of(run), self.handed_over(trial_id))
        except (OSError, RayError) as error:  # the disk is full, or the worker died just now: an older state remains
            print(f"the state of {name_of(run)} was not kept: {type(error).__name__}", flush=True)

    def handed_over(self, trial_id: str) -> Any:
        """What the worker of a run has for us. It does nothing else until it is told to go on, unless it hangs."""
        actor = worker_of(self.trials[trial_id])
        return ray.get(actor.hand_over.remote(), timeout=self.watch.silence)

    def record_result(self, trial_id: str, result: dict) -> None:
        """Write how a run ended. Idempotent: Tune may call twice."""
        if trial_id not in self.in_flight:
            return
        if self.products and result.get("product") and not self.keep_product(self.in_flight[trial_id], trial_id):
            return
        run = self.in_flight.pop(trial_id)
        self.watch.end(trial_id, time.monotonic())
        if self.leave_by is not None and result["status"] == DONE and result["epoch"] < result["epochs"]:
            return  # it was stopped with its state saved, and goes on when the search does
        ended = {
            "status": result["status"],
            "step": result["epoch"],
            "metrics": metrics_of(result),
            "seconds": round(result["seconds"], 3),
            "error": mask(result["error"]),  # which may quote an address
            **{key: result[key] for key in ("fingerprint", "same_as", "node") if result.get(key)},
        }
        baseline = self.ledger.state.configurations[run.config_id].baseline
        selection = self.proposer.standing.selection
        if trial_id in self.cut:
            ended |= {"status": PRUNED, "error": self.cut.pop(trial_id)}
        elif ended["status"] == DONE and not baseline and selection.score(ended["metrics"]) is None:
            missing = [name for name in selection.names if name not in ended["metrics"]]
            reported = ", ".join(ended["metrics"]) or "nothing"
            ended |= {"status": "failed:error", "error": f"{missing[0]} was not reported, but {reported}"}
        if ended["status"] == DONE and result.get("pictures"):  # before the line that MLflow's follower goes by
            try:
                write_atomically(pictures_of(self.ledger.path.parent, run.config_id, run.replicate), result["pictures"])
            except OSError as error:  # a picture costs no run
                print(f"the pictures of {name_of(run)} were not kept: {error.strerror}", flush=True)
        self.end(run, ended)

    def keep_product(self, run: Run, trial_id: str) -> bool:
        """Write what a run leaves for others, before the line that these are started by; whether that was done."""
        try:
            product = self.handed_over(trial_id)
        except (RayError, ConnectionError) as error:  # the worker died just now, or cannot send it
            self.lost[trial_id] = f"what it made could not be fetched: {type(error).__name__}"
            self.record_loss(trial_id)
            return False
        try:
            self.products.keep(name_of(run), product)
        except OSError as error:
            folder = self.ledger.path.parent
            told = f"{self.products.folder}: {error.strerror}. Make room there, then: {called('resume', folder)}"
            self.broken = self.broken or SearchError(told)
        return self.broken is None

    def record_loss(self, trial_id: str) -> None:
        """Write that a run lost its worker: it goes on elsewhere, unless that was its own doing too often."""
        if trial_id not in self.in_flight:
            return
        run = self.in_flight.pop(trial_id)
        self.given.pop(trial_id, None)
        seconds = round(self.watch.end(trial_id, time.monotonic()), 3)
        if self.leave_by is not None:
            return  # whoever told us to stop may have told the workers too: no fault of the run
        node, because = heartbeat.node_of(self.key, name_of(run)), mask(self.lost.pop(trial_id, DIED))
        if because.startswith(NOT_STARTED) and self.none_starts(because):
            return
        ended = {"step": run.step, "metrics": run.metrics, "seconds": seconds}
        if because == TIMEOUT:
            limit = f"{self.resources['minutes_per_run']:g}"
            self.end(run, {"status": TIMEOUT, **ended, "error": f"it took longer than {limit} minutes"})
        elif because == OUT_OF_MEMORY:
            self.end(run, {"status": OOM, **ended, "error": because})
        elif gives_up((*run.losses, (because, node)), {known.id for known in nodes_now()}):
            error = f"the worker process died more often than it is restarted ({because})"
            self.end(run, {"status": "failed:error", **ended, "error": error})
        else:
            self.write({"event": "lost", **identity(run), "because": because, "node": node})

    def none_starts(self, because: str) -> bool:
        """Whether no worker starts on any node, as where code is missing: the search then stops at the first run.

        Nothing is written of that run, so that it is started again when the search goes on.
        """
        runs = list(self.ledger.state.runs())
        failures = 1 + sum(before.startswith(NOT_STARTED) for run in runs for before, _ in run.losses)
        if any(run.steps or run.status == DONE for run in runs) or failures < len(nodes_now()):
            return False
        folder = self.ledger.state.search["folder"]
        cause, again = because.removeprefix(f"{NOT_STARTED}: "), called("resume", self.ledger.path.parent)
        self.broken = self.broken or SearchError(
            f"no run can start: {cause}. Install what is missing where runs are, or put it into {folder}. Then: {again}"
        )
        return True

    def end(self, run: Run, ended: dict) -> None:
        """Write the result of a run; one that is out of memory in its share waits for a whole device instead, once."""
        if ended["status"] == OOM and self.can_wait and not run.alone:
            self.write({"event": "wait", **identity(run), "because": ended["error"]})
        else:
            alone = {"alone": True} if run.alone else {}
            self.write({"event": "result", **identity(run), "phase": run.phase, **ended, **alone})
            self.on_result(self.ledger.state.configurations[run.config_id].runs[run.replicate])
            if self.plan:
                self.products.release(self.plan.needed(self.ledger.state))
        self.shelf.remove(name_of(run))

    def look_after(self) -> None:
        """Called in every turn of Tune's loop: ends what hangs, asks runs to save where we leave, says what broke."""
        if self.broken:
            raise self.broken
        now = time.monotonic()
        if self.leave_by is not None:
            if now > self.leave_by:
                raise KeyboardInterrupt
            if not self.told:
                self.told = True
                heartbeat.ask_to_leave(self.key)
        for trial_id, why in self.watch.look(now).items():
            actor = worker_of(self.trials[trial_id]) if trial_id in self.trials else None
            if actor is not None:
                self.lost[trial_id] = TIMEOUT if why == "timeout" else SILENT
                ray.kill(actor)

    def leave(self, grace: float) -> None:
        """Start nothing more, and be gone after `grace` seconds; runs that end an epoch before then save their state.

        Called by a signal, so it does no more than to set the time.
        """
        self.leave_by = time.monotonic() + grace


def identity(run: Run) -> dict:
    return {"config_id": run.config_id, "replicate": run.replicate}


def name_of(run: Run) -> str:
    return run_name(run.config_id, run.replicate)


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
                last = step == run.step
                status, error = (run.status, run.error) if last else (DONE, "")
                seconds = run.seconds * step / run.step
                same.publish(step - 1, {"status": status, "error": error, "metrics": metrics, "seconds": seconds})


def metrics_of(result: dict) -> dict[str, float]:
    """A run's own metrics from Tune's flat result."""
    return {
        name.removeprefix("metrics/"): float(value) for name, value in result.items() if name.startswith("metrics/")
    }
