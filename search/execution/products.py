"""The files of runs in a search folder: saved states, pictures, and products, which runs leave for other runs."""

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import ray

from seedwise.errors import SearchError
from seedwise.files import write_atomically
from seedwise.folder import pictures_of
from seedwise.search.decide.landscape_plan import Plan
from seedwise.search.execution.checkpoints import SavedStates
from seedwise.search.execution.in_flight import InFlight
from seedwise.search.ledger.state import Run, State


class Products:
    """Arrays by name, a file for every run that left some: FOLDER/CONFIGURATION-REPLICATE.safetensors.

    While other runs need them, they are in Ray's object store too.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self._held: dict[str, ray.ObjectRef] = {}

    def path(self, name: str) -> Path:
        return self.folder / f"{name}.safetensors"

    def keep(self, name: str, product: dict[str, np.ndarray]) -> None:
        """Write a product to the folder: beside its name, then renamed."""
        from safetensors.numpy import save

        self.folder.mkdir(parents=True, exist_ok=True)
        partial = self.folder / f".{name}.{os.getpid()}.partial"
        try:
            with open(partial, "wb") as file:
                file.write(save({key: np.asarray(value, order="C") for key, value in product.items()}))
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, self.path(name))
        finally:
            partial.unlink(missing_ok=True)

    def held(self, name: str) -> ray.ObjectRef:
        """The product of a run for a worker. It is put into the object store once, however many ask for it."""
        if name not in self._held:
            self._held[name] = ray.put(self.load(name))
        return self._held[name]

    def release(self, needed: Collection[str]) -> None:
        """Drop from the object store what is not among those `needed`."""
        for name in [known for known in self._held if known not in needed]:
            del self._held[name]

    def load(self, name: str) -> dict[str, np.ndarray]:
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        try:
            return load_file(self.path(name))
        except (OSError, SafetensorError) as error:
            problem = "it is gone" if isinstance(error, FileNotFoundError) else error
            raise SearchError(
                f"{self.path(name)}: {problem}. Runs that are left need it: bring it back, or start anew with --out."
            ) from error


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
