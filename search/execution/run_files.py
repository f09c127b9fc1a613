"""The files of runs in a search folder: saved states, products and pictures."""

from dataclasses import dataclass
from pathlib import Path

from seedwise.files import write_atomically
from seedwise.folder import pictures_of
from seedwise.search.decide.landscape_plan import Plan
from seedwise.search.execution.checkpoints import SavedStates
from seedwise.search.execution.in_flight import InFlight
from seedwise.search.execution.products import Products
from seedwise.search.ledger.state import Run, State


@dataclass(frozen=True)
class RunFiles:
    """What runs leave in the search folder, and what runs take from there. `plan` says who needs whose product."""

    folder: Path
    states: SavedStates
    products: Products | None = None
    plan: Plan | None = None

    def load_inputs(self, flight: InFlight) -> None:
        """The state that a run goes on from, and the products of other runs that it needs."""
        if self.plan:
            flight.products = tuple(self.products.held(name) for name in self.plan.needs(flight.run))
        flight.state = self.states.held(flight.name)

    def keep_pictures(self, run: Run, pictures: str) -> None:
        """Pictures that cannot be written cost no run."""
        try:
            write_atomically(pictures_of(self.folder, run.config_id, run.replicate), pictures)
        except OSError as error:
            print(f"the pictures of {run.name} were not kept: {error.strerror}", flush=True)

    def release(self, run: Run, state: State) -> None:
        """Drop what nobody needs once this run has ended: its saved state, and products in the object store."""
        self.states.shelf.remove(run.name)
        if self.plan:
            self.products.release(self.plan.needed(state))
