"""Runs in flight, which have started but have no result yet. A watchdog ends workers that are too slow or silent."""

import time
from dataclasses import dataclass, field
from typing import Any

import ray

from seedwise.search.cluster.ray_internals import worker_of
from seedwise.search.execution import coordination
from seedwise.search.execution.worker_loss import SILENT, Loss
from seedwise.search.ledger.state import Run

TIMEOUT = "failed:timeout"
CHECKS = 4  # per limit: a hung run is noticed at most a quarter of its limit late
MAX_CHECK_SECONDS = 15.0  # between two checks, even if limits are long


@dataclass
class InFlight:
    """A run that has started. Times are seconds of the driver's clock."""

    run: Run
    checkpoint: ray.ObjectRef | None = None  # to continue from; dropped once a worker has it
    products: tuple[ray.ObjectRef, ...] = ()  # of other runs; dropped once a worker has them
    trial: Any = None  # the trial of Tune, once the run has a worker
    pruned: str = ""  # why the run was pruned; empty if it was not
    lost: Loss | None = None  # why its worker was lost
    heartbeat: bytes | None = None  # the last heartbeat that was seen
    heard: float = 0.0  # when the heartbeat last changed
    began: float | None = None  # when the first heartbeat was seen

    def fetch_output(self, timeout: float) -> Any:
        """Fetch the checkpoint or product that the worker has announced. It is idle now, unless it hangs."""
        return ray.get(worker_of(self.trial).take_output.remote(), timeout=timeout)

    def kill(self, reason: str) -> None:
        """End the worker, if there is one. Tune then reports the run as lost."""
        if worker := worker_of(self.trial):
            self.lost = Loss(reason)
            ray.kill(worker)


@dataclass
class RunsInFlight:
    """The runs of a session without a result, by Tune's trial, and the watchdog over their workers.

    `limit` is the longest that a run may take from its first heartbeat on (None: no limit), `silence` the longest
    without a new heartbeat, both in seconds.
    """

    session: str
    limit: float | None
    silence: float
    by_trial: dict[str, InFlight] = field(default_factory=dict)
    checked: float = 0.0

    def add(self, trial_id: str, flight: InFlight) -> None:
        coordination.clear_heartbeat(self.session, flight.run.name)
        self.by_trial[trial_id] = flight

    def begin(self, trial: Any) -> None:
        """Give the worker of a trial what its run needs. Tune asks the worker for its first step after this."""
        flight = self.by_trial[trial.trial_id]
        flight.trial, flight.heard = trial, time.monotonic()
        if flight.checkpoint is not None or flight.products:
            worker_of(trial).set_inputs.remote(flight.checkpoint, *flight.products)
        flight.checkpoint, flight.products = None, ()

    def remove(self, trial_id: str) -> float:
        """Remove a run that has ended or lost its worker. Returns the seconds since its first heartbeat."""
        flight = self.by_trial.pop(trial_id)
        return 0.0 if flight.began is None else time.monotonic() - flight.began

    def hung(self) -> list[tuple[InFlight, str]]:
        """The runs to end now, and why. Cheap to call often: it checks the heartbeats only every few seconds."""
        now = time.monotonic()
        if now - self.checked < min(MAX_CHECK_SECONDS, self.silence / CHECKS, (self.limit or self.silence) / CHECKS):
            return []
        self.checked, hung = now, []
        for flight in self.by_trial.values():
            if flight.trial is None:
                continue  # the run waits for a worker
            heartbeat = coordination.last_heartbeat(self.session, flight.run.name)
            if heartbeat is not None and heartbeat != flight.heartbeat:
                flight.heartbeat, flight.heard = heartbeat, now
                flight.began = now if flight.began is None else flight.began
            if self.limit is not None and flight.began is not None and now - flight.began > self.limit:
                hung.append((flight, TIMEOUT))
            elif now - flight.heard > self.silence:
                hung.append((flight, SILENT))
        return hung
