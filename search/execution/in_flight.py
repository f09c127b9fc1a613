"""A run in flight: started, and without an end."""

from dataclasses import dataclass
from typing import Any

import ray

from seedwise.folder import run_name
from seedwise.search.cluster.ray_internals import worker_of
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
        return run_name(self.run.config_id, self.run.replicate)

    def begin(self, trial: Any) -> None:
        """Give a worker what its run begins with. Tune asks it for its first step after this."""
        self.trial = trial
        if self.state is not None or self.products:
            worker_of(trial).give_inputs.remote(self.state, *self.products)
        self.state, self.products = None, ()

    def handed_over(self, patience: float) -> Any:
        """What the worker has for us. It does nothing else until it is told to go on, unless it hangs."""
        return ray.get(worker_of(self.trial).hand_over.remote(), timeout=patience)

    def kill(self, why: str) -> None:
        """End the worker, if there is one: Tune then says that the run lost it."""
        worker = worker_of(self.trial) if self.trial else None
        if worker is not None:
            self.lost = why
            ray.kill(worker)
