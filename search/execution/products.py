"""The files of runs in a search folder: checkpoints, pictures, and products (models that other runs need)."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import ray
from ray.exceptions import RayError

from seedwise.errors import SearchError
from seedwise.files import replacing, write_atomically
from seedwise.folder import pictures_of
from seedwise.search.decide.next_run import Dependencies
from seedwise.search.execution.checkpoints import CheckpointStore
from seedwise.search.execution.in_flight import InFlight
from seedwise.search.ledger.state import Run, State


class Products:
    """Stores products, which are arrays by name, one file per run: FOLDER/CONFIGURATION-REPLICATE.safetensors.

    A product stays in Ray's object store for as long as runs need it.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self._in_store: dict[str, ray.ObjectRef] = {}

    def path(self, name: str) -> Path:
        return self.folder / f"{name}.safetensors"

    def save(self, name: str, product: dict[str, np.ndarray]) -> None:
        from safetensors.numpy import save

        with replacing(self.path(name)) as partial:
            partial.write_bytes(save({key: np.asarray(value, order="C") for key, value in product.items()}))

    def share(self, name: str) -> ray.ObjectRef:
        """A reference to a product in the object store. The product is put there once, however many runs need it."""
        if name not in self._in_store:
            self._in_store[name] = ray.put(self.load(name))
        return self._in_store[name]

    def release(self, needed: Collection[str]) -> None:
        """Drop all products that are not `needed` from the object store."""
        self._in_store = {name: reference for name, reference in self._in_store.items() if name in needed}

    def load(self, name: str) -> dict[str, np.ndarray]:
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        try:
            return load_file(self.path(name))
        except (OSError, SafetensorError) as error:
            problem = "it is missing" if isinstance(error, FileNotFoundError) else error
            raise SearchError(
                f"{self.path(name)}: {problem}. Remaining runs need it: restore it, or start again with --out."
            ) from error


@dataclass(frozen=True)
class RunFiles:
    """The files of runs that the driver keeps in the search folder, and from which it gives runs their inputs.

    `shared`: workers read and write checkpoints themselves. `plan` says which run needs which products.
    """

    folder: Path
    checkpoints: CheckpointStore
    shared: bool
    products: Products
    plan: Dependencies

    def load_inputs(self, flight: InFlight) -> None:
        """Put the inputs of a run into the object store. If its checkpoint cannot be read, the run starts over."""
        flight.products = tuple(self.products.share(name) for name in self.plan.needs(flight.run))
        try:
            checkpoint = None if self.shared else self.checkpoints.load(flight.run.name)
            flight.checkpoint = checkpoint and ray.put(checkpoint)
        except (OSError, RayError) as error:
            print(f"the checkpoint of {flight.run.name} cannot be read: {type(error).__name__}", flush=True)

    def fetch_checkpoint(self, flight: InFlight, timeout: float) -> None:
        """Fetch the checkpoint that a worker has just made. If that fails, the previous checkpoint is kept."""
        try:
            self.checkpoints.save(flight.run.name, flight.fetch_output(timeout))
        except (OSError, RayError) as error:  # the disk is full, or the worker died just now
            print(f"the checkpoint of {flight.run.name} could not be saved: {type(error).__name__}", flush=True)

    def keep_pictures(self, run: Run, pictures: str) -> None:
        """Write the pictures of a run. If that fails, the result of the run still counts."""
        try:
            write_atomically(pictures_of(self.folder, run.config_id, run.replicate), pictures)
        except OSError as error:
            print(f"the pictures of {run.name} could not be saved: {error.strerror}", flush=True)

    def release(self, run: Run, state: State) -> None:
        """After the end of a run, delete its checkpoint, and drop products that no other run needs."""
        self.checkpoints.remove(run.name)
        self.products.release(self.plan.needed(state))
