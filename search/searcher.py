"""The Ray Tune searcher: a thin adapter between Tune's questions and the policy, the proposer and the ledger."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from ray.tune import Callback
from ray.tune.schedulers import FIFOScheduler, TrialScheduler
from ray.tune.search import Searcher

from search.baselines import Baselines
from search.decide import Decider, next_run
from search.files import write_atomically
from search.ledger import CONFIRM, DONE, PRUNED, Ledger, Run, State
from search.pictures import path_of
from search.placement import Placement
from search.policy import FRESH, Stop
from search.progress import Progress
from search.propose import Proposer
from search.prune import prunes
from trainables.base import TELLING
from trainables.same import Same


@dataclass
class Session:
    """One process's work on a phase of a search: it turns decisions into runs, and results into lines of the ledger."""

    ledger: Ledger
    policy: Decider
    proposer: Proposer
    placement: Placement
    checkpoints: Path
    checkpoint_seconds: float
    total: int | None = None  # runs in all, where that is known
    prune: str = "off"
    baselines: Baselines | None = None
    on_result: Callable[[Run], None] = lambda run: None
    because: str = ""  # why nothing more is started; empty while something is
    in_flight: dict[str, Run] = field(default_factory=dict)
    cut: dict[str, str] = field(default_factory=dict)  # runs that were pruned, and why

    def start_next(self, trial_id: str) -> dict | None:
        """The configuration of the next run, or None when nothing more is to be started. Never waits."""
        decision = next_run(self.ledger.state, self.policy, self.proposer, self.baselines)
        for event in decision.events:
            self.ledger.append(event)
        if isinstance(decision.run, Stop):
            self.because = decision.run.because
            return None
        config_id, replicate = decision.run.config_id, decision.run.replicate
        configuration = self.ledger.state.configurations[config_id]
        self.in_flight[trial_id] = configuration.runs[replicate]
        resume_from = newest_checkpoint(self.checkpoints, config_id, replicate)
        return {
            "config_id": config_id,
            "replicate": replicate,
            "phase": decision.run.phase,
            "draws": decision.run.phase == CONFIRM and replicate == FRESH,
            "vary": configuration.vary,
            "params": configuration.params,
            "seed": self.proposer.seed,
            "session": session_key(self.ledger.state, decision.run.phase),
            "workers": self.workers(),
            "threads": self.placement.cpus,
            "gpus": self.placement.gpus,
            "checkpoint_seconds": self.checkpoint_seconds,
            "resume_from": str(resume_from) if resume_from else None,
        }

    def workers(self) -> int:
        """How many workers there will be: one per slot, unless fewer runs are left than that."""
        if self.total is None:
            return self.placement.slots
        finished = sum(run.finished for run in self.ledger.state.runs())
        return min(self.placement.slots, max(1, self.total - finished))

    def record_step(self, trial_id: str, result: dict) -> bool:
        """Write what a run reported; True where it should end here."""
        run = self.in_flight[trial_id]
        event = {"event": "step", "config_id": run.config_id, "replicate": run.replicate, "step": result["epoch"]}
        self.ledger.append({**event, "epochs": result["epochs"], "metrics": metrics_of(result)}, durable=False)
        if self.ledger.state.configurations[run.config_id].baseline:
            return False
        reason = prunes(self.prune, self.ledger.state, self.proposer.standing.selection, run)
        if reason:
            self.cut[trial_id] = reason
        return bool(reason)

    def record_result(self, trial_id: str, result: dict | None) -> None:
        """Write how a run ended; without a result its worker died. Idempotent: Tune may call twice."""
        if trial_id not in self.in_flight:
            return
        run = self.in_flight.pop(trial_id)
        event = {"event": "result", "config_id": run.config_id, "replicate": run.replicate, "phase": run.phase}
        if result is None:
            ended = {
                "status": "failed:error",
                "step": run.step,
                "metrics": run.metrics,
                "seconds": 0.0,
                "error": "the worker process died more often than it is restarted",
            }
        else:
            ended = {
                "status": result["status"],
                "step": result["epoch"],
                "metrics": metrics_of(result),
                "seconds": round(result["seconds"], 3),
                "error": result["error"],
                **{key: result[key] for key in ("fingerprint", "same_as") if result.get(key)},
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
            write_atomically(path_of(self.ledger.path.parent, run.config_id, run.replicate), result["pictures"])
        self.ledger.append({**event, **ended})
        for folder in self.checkpoints.glob(f"*/{run.config_id}-{run.replicate}"):
            shutil.rmtree(folder, ignore_errors=True)
        self.on_result(self.ledger.state.configurations[run.config_id].runs[run.replicate])


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


class LedgerSearcher(Searcher):
    """What Ray Tune sees. Tune pickles its searcher; the session holds an open file and stays behind."""

    def __init__(self, session: Session):
        super().__init__()
        self.session = session

    def suggest(self, trial_id: str) -> dict | str:
        config = self.session.start_next(trial_id)
        return Searcher.FINISHED if config is None else config

    def on_trial_complete(self, trial_id: str, result: dict | None = None, error: bool = False) -> None:
        self.session.record_result(trial_id, None if error else result)

    def __getstate__(self) -> dict:
        return {**vars(self), "session": None}

    def save(self, checkpoint_path: str) -> None:
        """Nothing to save: the ledger is the truth."""

    def restore(self, checkpoint_path: str) -> None:
        """Never called: a search goes on from its ledger."""


class Pruner(FIFOScheduler):
    """Every step comes here, unless it is a run's last: Tune asks the scheduler whether the run goes on."""

    def __init__(self, session: Session):
        super().__init__()
        self.session = session

    def on_trial_result(self, tune_controller: object, trial: object, result: dict) -> str:
        return TrialScheduler.STOP if self.session.record_step(trial.trial_id, result) else TrialScheduler.CONTINUE

    def __getstate__(self) -> dict:
        return {**vars(self), "session": None}


class Ticker(Callback):
    """Redraws the progress in every turn of Tune's loop: no second thread reads the state while it changes."""

    def __init__(self, progress: Progress):
        self.progress = progress

    def on_step_end(self, iteration: int, trials: list, **info: object) -> None:
        self.progress.tick()

    def __getstate__(self) -> dict:
        return {"progress": None}


def metrics_of(result: dict) -> dict[str, float]:
    """A run's own metrics from Tune's flat result."""
    return {
        name.removeprefix("metrics/"): float(value) for name, value in result.items() if name.startswith("metrics/")
    }


def newest_checkpoint(checkpoints: Path, config_id: str, replicate: int) -> Path | None:
    """The last state that a run saved in any session, if it saved one."""
    found = [marker.parent for marker in checkpoints.glob(f"*/{config_id}-{replicate}/checkpoint_*/epoch.json")]
    return max(found, key=lambda folder: (folder / "epoch.json").stat().st_mtime, default=None)
