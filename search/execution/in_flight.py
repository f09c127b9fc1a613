"""Runs in flight: started, and without an end."""

import time
from dataclasses import dataclass
from functools import partial
from typing import Any

import ray

from seedwise.search.cluster.ray_internals import worker_of
from seedwise.search.execution import heartbeat
from seedwise.search.execution.watchdog import TIMEOUT, Watch
from seedwise.search.execution.worker_loss import SILENT
from seedwise.search.ledger.state import Run


@dataclass
class InFlight:
    """A run that was started, with its worker once it has one, and why it ends early where it does."""

    run: Run
    state: ray.ObjectRef | None = None  # that it goes on from, until its worker has it
    products: tuple[ray.ObjectRef, ...] = ()  # of other runs, until its worker has them
    trial: Any = None  # Tune's, once the run has a worker
    pruned: str = ""  # why
    lost: str = ""  # why its worker is gone, or was ended by us

    @property
    def name(self) -> str:
        return self.run.name

    def begin(self, trial: Any) -> None:
        """Give a worker what its run begins with. Tune asks it for its first step after this."""
        self.trial = trial
        if self.state is not None or self.products:
            worker_of(trial).set_inputs.remote(self.state, *self.products)
        self.state, self.products = None, ()

    def fetch(self, timeout: float) -> Any:
        """The output that its worker holds for the driver. A worker does nothing else meanwhile, unless it hangs."""
        return ray.get(worker_of(self.trial).take_output.remote(), timeout=timeout)

    def kill(self, why: str) -> None:
        """End the worker, if there is one: Tune then says that the run lost it."""
        worker = worker_of(self.trial) if self.trial else None
        if worker is not None:
            self.lost = why
            ray.kill(worker)


class RunsInFlight:
    """The runs of a session that have no end yet, by Tune's trial, and the watchdog over their workers.

    `limit` is the longest that a run may take (None: any time), `silence` the longest without a heartbeat: seconds.
    """

    def __init__(self, session: str, limit: float | None, silence: float):
        self.session = session
        self.watch = Watch(limit, silence, partial(heartbeat.last_beat, session))
        self.by_trial: dict[str, InFlight] = {}

    def start(self, trial_id: str, flight: InFlight) -> None:
        heartbeat.forget(self.session, flight.name)
        self.by_trial[trial_id] = flight

    def begin(self, trial: Any) -> None:
        """A run has a worker: Tune's trial."""
        flight = self.by_trial[trial.trial_id]
        flight.begin(trial)
        self.watch.begin(trial.trial_id, flight.name, time.monotonic())

    def end(self, trial_id: str) -> float:
        """A run is over, or has lost its worker; how many seconds that had."""
        del self.by_trial[trial_id]
        return self.watch.end(trial_id, time.monotonic())

    def node_of(self, flight: InFlight) -> str:
        """Where its worker is; empty before its first heartbeat."""
        return heartbeat.node_of(self.session, flight.name)

    def kill_hung(self) -> None:
        """End the workers of runs that take too long, and those without a heartbeat."""
        for trial_id, why in self.watch.look(time.monotonic()).items():
            self.by_trial[trial_id].kill(TIMEOUT if why == "timeout" else SILENT)
