"""Saved states of runs: how they travel, and where they are kept.

No disk is shared with the workers. A worker packs the state of its run and says so with its step; the driver asks for
it, keeps it in the search folder, and hands it out again where the run goes on elsewhere. Where the
specification names a place that all nodes see (`checkpoints.path`), workers write and read there themselves.
"""

import contextlib
import io
import os
import tarfile
from pathlib import Path

import ray
from ray.exceptions import RayError

from seedwise.search.execution.in_flight import InFlight


class Shelf:
    """The states of unfinished runs below a folder or a URI (s3://..., gs://...), the newest one of each run."""

    def __init__(self, place: str):
        from pyarrow.fs import FileSystem

        self._files, self._root = FileSystem.from_uri(place if "://" in place else Path(place).absolute().as_uri())

    def save(self, run: str, state: bytes) -> None:
        """Keep a state instead of the one before it. Written beside it, then renamed: a cut leaves the old one."""
        self._files.create_dir(self._root, recursive=True)
        partial = f"{self._path(run)}.{os.getpid()}.partial"
        with self._files.open_output_stream(partial) as file:
            file.write(state)
        self._files.move(partial, self._path(run))

    def load(self, run: str) -> bytes | None:
        """The state of a run; None where it has none."""
        try:
            with self._files.open_input_stream(self._path(run)) as file:
                return file.read()
        except FileNotFoundError:
            return None

    def remove(self, run: str) -> None:
        """Drop the state of a run that has ended. One that cannot be reached is left where it is."""
        with contextlib.suppress(OSError):
            self._files.delete_file(self._path(run))

    def _path(self, run: str) -> str:
        return f"{self._root}/{run}.tar"


class SavedStates:
    """The states of a search's runs, on the driver. One that cannot be kept or read costs no run."""

    def __init__(self, search_id: str, at: str | None, folder: Path):
        self.shared = f"{at.rstrip('/')}/{search_id}" if at else ""  # a place where workers write and read themselves
        self.shelf = Shelf(self.shared or str(folder.resolve() / "checkpoints"))

    def held(self, run: str) -> ray.ObjectRef | None:
        """The state of a run for its worker, if there is one that can be had and the worker does not read it itself."""
        try:
            state = None if self.shared else self.shelf.load(run)
            return state and ray.put(state)
        except (OSError, RayError) as error:
            print(f"the state of {run} cannot be used: {type(error).__name__}", flush=True)
            return None

    def keep(self, flight: InFlight, timeout: float) -> None:
        """Take the state that a worker has saved from its node to the search folder."""
        try:
            self.shelf.save(flight.name, flight.fetch(timeout))
        except (OSError, RayError) as error:  # the disk is full, or the worker died just now: an older state remains
            print(f"the state of {flight.name} was not kept: {type(error).__name__}", flush=True)


def pack(folder: Path) -> bytes:
    """The files of a folder as one piece."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        archive.add(folder, arcname=".")
    return content.getvalue()


def unpack(state: bytes, folder: Path) -> None:
    """Write the files of `pack` into a folder, and nothing outside of it."""
    with tarfile.open(fileobj=io.BytesIO(state)) as archive:
        archive.extractall(folder, filter="data")
