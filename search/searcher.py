"""The Ray Tune searcher: a thin adapter between Tune's questions and the policy, the proposer and the ledger."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from ray.tune import Callback
from ray.tune.search import Searcher

from search.ledger import DONE, Ledger, Run
from search.placement import Placement
from search.policy import Fixed, New, Replicate, Stop
from search.progress import Progress
from search.propose import Proposer


@dataclass
class Session:
    """One process's work on a search: it turns the policy's answers into runs, and results into lines of the ledger."""

    ledger: Ledger
    policy: Fixed
    proposer: Proposer
    placement: Placement
    checkpoints: Path
    checkpoint_seconds: float
    on_result: Callable[[Run], None] = lambda run: None
    because: str = ""  # why nothing more is started; empty while something is
    in_flight: dict[str, tuple[str, int]] = field(default_factory=dict)

    def start_next(self, trial_id: str) -> dict | None:
        """The configuration of the next run, or None when nothing more is to be started. Never waits."""
        action = self.policy.next_action(self.ledger.state)
        if isinstance(action, New):
            proposal = self.proposer.propose(self.ledger.state)
            if proposal is None:
                action = Stop("the space has no further configuration")
            else:
                self.ledger.append({"event": "ask", **vars(proposal)})
                action = Replicate(proposal.config_id, 0, action.because)
        if isinstance(action, Stop):
            self.because = action.because
            return None
        self.ledger.append(
            {
                "event": "start",
                "config_id": action.config_id,
                "replicate": action.replicate,
                "phase": "search",
                "because": action.because,
            }
        )
        self.in_flight[trial_id] = (action.config_id, action.replicate)
        resume_from = newest_checkpoint(self.checkpoints, action.config_id, action.replicate)
        return {
            "config_id": action.config_id,
            "replicate": action.replicate,
            "params": self.ledger.state.configurations[action.config_id].params,
            "seed": self.proposer.seed,
            "session": f"{self.ledger.state.search['search_id']}/{self.ledger.state.sessions}",
            "workers": self.workers(),
            "threads": self.placement.cpus,
            "gpus": self.placement.gpus,
            "checkpoint_seconds": self.checkpoint_seconds,
            "resume_from": str(resume_from) if resume_from else None,
        }

    def workers(self) -> int:
        """How many workers there will be: one per slot, unless fewer runs are left than that."""
        total = self.policy.total_runs()
        finished = sum(run.finished for run in self.ledger.state.runs())
        return self.placement.slots if total is None else min(self.placement.slots, total - finished)

    def record_step(self, trial_id: str, result: dict) -> None:
        config_id, replicate = self.in_flight[trial_id]
        event = {"event": "step", "config_id": config_id, "replicate": replicate}
        self.ledger.append({**event, "step": result["epoch"], "metrics": metrics_of(result)}, durable=False)

    def record_result(self, trial_id: str, result: dict | None) -> None:
        """Write how a run ended; without a result its worker died. Idempotent: Tune may call twice."""
        if trial_id not in self.in_flight:
            return
        config_id, replicate = self.in_flight.pop(trial_id)
        run = self.ledger.state.configurations[config_id].runs[replicate]
        event = {"event": "result", "config_id": config_id, "replicate": replicate, "phase": run.phase}
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
            }
        selection = self.proposer.selection
        if ended["status"] == DONE and selection.score(ended["metrics"]) is None:
            reported = ", ".join(ended["metrics"]) or "nothing"
            ended |= {"status": "failed:error", "error": f"{selection.names[0]} was not reported, but {reported}"}
        self.ledger.append({**event, **ended})
        for folder in self.checkpoints.glob(f"*/{config_id}-{replicate}"):
            shutil.rmtree(folder, ignore_errors=True)
        self.on_result(self.ledger.state.configurations[config_id].runs[replicate])


class LedgerSearcher(Searcher):
    """What Ray Tune sees. Tune pickles its searcher; the session holds an open file and stays behind."""

    def __init__(self, session: Session):
        super().__init__()
        self.session = session

    def suggest(self, trial_id: str) -> dict | str:
        config = self.session.start_next(trial_id)
        return Searcher.FINISHED if config is None else config

    def on_trial_result(self, trial_id: str, result: dict) -> None:
        self.session.record_step(trial_id, result)

    def on_trial_complete(self, trial_id: str, result: dict | None = None, error: bool = False) -> None:
        self.session.record_result(trial_id, None if error else result)

    def __getstate__(self) -> dict:
        return {**vars(self), "session": None}

    def save(self, checkpoint_path: str) -> None:
        """Nothing to save: the ledger is the truth."""

    def restore(self, checkpoint_path: str) -> None:
        """Never called: a search goes on from its ledger."""


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
