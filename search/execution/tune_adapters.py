"""What Ray Tune sees of a search: thin adapters between its questions and a session."""

import time
from pathlib import Path

from ray.tune import Callback
from ray.tune.schedulers import FIFOScheduler, TrialScheduler
from ray.tune.search import Searcher

from seedwise.search.decide.policy import Wait
from seedwise.search.decide.whole_device import Alone
from seedwise.search.execution.messages import StepReport
from seedwise.search.execution.session import Session
from seedwise.search.execution.view import View
from seedwise.search.execution.worker_loss import cause_of


class LedgerSearcher(Searcher):
    """What Ray Tune sees. Tune pickles its searcher; the session holds an open file and stays behind."""

    def __init__(self, session: Session):
        super().__init__()
        self.session = session

    def suggest(self, trial_id: str) -> dict | str | None:
        """None where every slot has a run: Tune asks again."""
        session = self.session
        running = session.runs.by_trial
        if not session.shutdown.begun and len(running) >= session.slots.now():
            alone = isinstance(session.decisions.policy, Alone)  # ends where no node fits, rather than to wait for one
            return Searcher.FINISHED if alone and not running else None
        order = session.start_next(trial_id)
        if order is None:
            return Searcher.FINISHED
        return None if isinstance(order, Wait) else order.as_dict()

    def on_trial_complete(self, trial_id: str, result: dict | None = None, error: bool = False) -> None:
        if error or result is None:
            self.session.record_loss(trial_id)
        else:
            self.session.record_result(trial_id, StepReport.of(result))

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
        ends = self.session.record_step(trial.trial_id, StepReport.of(result))
        return TrialScheduler.STOP if ends else TrialScheduler.CONTINUE

    def on_trial_error(self, tune_controller: object, trial: object) -> None:
        """Comes before the searcher hears of it, and is the only place that sees the cause."""
        flight = self.session.runs.by_trial.get(trial.trial_id)
        if flight is not None and not flight.lost:
            flight.lost = cause_of(Path(trial.error_file))

    def __getstate__(self) -> dict:
        return {**vars(self), "session": None}


class Ticker(Callback):
    """Redraws the progress and looks after runs in every turn of Tune's loop: no second thread reads a moving state."""

    def __init__(self, view: View, session: Session):
        self.view, self.session = view, session

    def on_trial_start(self, iteration: int, trials: list, trial: object, **info: object) -> None:
        self.session.runs.begin(trial)

    def on_step_end(self, iteration: int, trials: list, **info: object) -> None:
        self.view.tick()
        shutdown = self.session.shutdown
        if shutdown.asked and not shutdown.announced:
            left = f"{max(0.0, shutdown.by - time.monotonic()):.0f}"
            self.view.say(f"stopping: running epochs have {left} s to end and be saved; once more to leave at once.")
        self.session.look_after()
        self.session.slots.ask_for(self.session.decisions.left(self.session.ledger.state))

    def __getstate__(self) -> dict:
        return {"view": None, "session": None}
