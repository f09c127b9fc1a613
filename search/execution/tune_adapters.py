"""What Ray Tune sees of a search: thin adapters around a session."""

from pathlib import Path

from ray.tune import Callback
from ray.tune.schedulers import FIFOScheduler, TrialScheduler
from ray.tune.search import Searcher

from seedwise.search.decide.policy import Wait, WholeDeviceRetries
from seedwise.search.execution.messages import StepReport
from seedwise.search.execution.session import Session
from seedwise.search.execution.worker_loss import cause_of


class LedgerSearcher(Searcher):
    """Hands out runs, and takes results and losses."""

    def __init__(self, session: Session):
        super().__init__()
        self.session = session

    def suggest(self, trial_id: str) -> dict | str | None:
        """None where every slot has a run: Tune asks again."""
        session = self.session
        running = session.runs.by_trial
        if not session.shutdown.begun and len(running) >= session.slots.now():
            retries = isinstance(session.decisions.policy, WholeDeviceRetries)  # do not wait for a node that fits
            return Searcher.FINISHED if retries and not running else None
        order = session.start_next(trial_id)
        if order is None:
            return Searcher.FINISHED
        return None if isinstance(order, Wait) else order.as_dict()

    def on_trial_complete(self, trial_id: str, result: dict | None = None, error: bool = False) -> None:
        if error or result is None:
            self.session.record_loss(trial_id)
        else:
            self.session.record_result(trial_id, StepReport.of(result))

    def save(self, checkpoint_path: str) -> None:
        """Nothing to save: the ledger is the truth."""


class Pruner(FIFOScheduler):
    """Takes every step but the last of a run: Tune asks whether the run continues."""

    def __init__(self, session: Session):
        super().__init__()
        self.session = session

    def on_trial_result(self, tune_controller: object, trial: object, result: dict) -> str:
        ends = self.session.record_step(trial.trial_id, StepReport.of(result))
        return TrialScheduler.STOP if ends else TrialScheduler.CONTINUE

    def on_trial_error(self, tune_controller: object, trial: object) -> None:
        """Called before the searcher's `on_trial_complete`, and the only call that has the cause."""
        flight = self.session.runs.by_trial.get(trial.trial_id)
        if flight is not None and not flight.lost:
            flight.lost = cause_of(Path(trial.error_file))


class Ticker(Callback):
    """Runs the session's work in Tune's own loop: no second thread reads a state that changes."""

    def __init__(self, session: Session):
        self.session = session

    def on_trial_start(self, iteration: int, trials: list, trial: object, **info: object) -> None:
        self.session.runs.begin(trial)

    def on_step_end(self, iteration: int, trials: list, **info: object) -> None:
        self.session.on_turn()
