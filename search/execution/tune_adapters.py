"""Connects Ray Tune to a session: a searcher, a scheduler and a callback that forward Tune's calls."""

from pathlib import Path

from ray.tune import Callback
from ray.tune.schedulers import FIFOScheduler, TrialScheduler
from ray.tune.search import Searcher

from seedwise.search.decide.policy import Wait, WholeDeviceRetries
from seedwise.search.execution.messages import StepReport
from seedwise.search.execution.session import Session
from seedwise.search.execution.worker_loss import cause_of


class LedgerSearcher(Searcher):
    """Gives Tune the next run, and passes results and lost workers to the session."""

    def __init__(self, session: Session):
        super().__init__()
        self.session = session

    def suggest(self, trial_id: str) -> dict | str | None:
        """The order of the next run. None if no run can start now: Tune asks again."""
        session = self.session
        running = session.runs.by_trial
        if not session.shutdown.begun and len(running) >= session.slots.now():
            retries = isinstance(session.decisions.policy, WholeDeviceRetries)  # do not wait for a larger node
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
        """Save nothing: all is in the ledger."""


class Pruner(FIFOScheduler):
    """Passes every step but the last of a run to the session, which says whether the run continues."""

    def __init__(self, session: Session):
        super().__init__()
        self.session = session

    def on_trial_result(self, tune_controller: object, trial: object, result: dict) -> str:
        ends = self.session.record_step(trial.trial_id, StepReport.of(result))
        return TrialScheduler.STOP if ends else TrialScheduler.CONTINUE

    def on_trial_error(self, tune_controller: object, trial: object) -> None:
        """Note why the worker was lost. Tune calls this before `on_trial_complete`, which does not get the cause."""
        flight = self.session.runs.by_trial.get(trial.trial_id)
        if flight is not None and not flight.lost:
            flight.lost = cause_of(Path(trial.error_file))


class Ticker(Callback):
    """Runs the session's periodic work in Tune's loop, so that no second thread reads changing state."""

    def __init__(self, session: Session):
        self.session = session

    def on_trial_start(self, iteration: int, trials: list, trial: object, **info: object) -> None:
        self.session.runs.begin(trial)

    def on_step_end(self, iteration: int, trials: list, **info: object) -> None:
        self.session.on_turn()
