"""What runs leave for other runs of the same search: in its folder, and in Ray's object store while it is needed."""

import os
from collections.abc import Collection
from pathlib import Path

import numpy as np
import ray

from seedwise.errors import SearchError


class Products:
    """Arrays by name, a file for every run that left some: FOLDER/CONFIGURATION-REPLICATE.safetensors."""

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
