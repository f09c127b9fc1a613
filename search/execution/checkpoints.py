"""Stores checkpoints of unfinished runs, and packs folders into bytes.

Workers and driver share no disk. A worker packs the state of its run and announces it in its report; the driver fetches
the state, keeps it in the search folder, and gives it to the worker that continues the run. If the specification names
an address that all nodes can reach (`checkpoints.path`), workers write and read checkpoints themselves.
"""

import contextlib
import io
import os
import tarfile
from pathlib import Path

from seedwise.errors import RequestError


class CheckpointStore:
    """The latest checkpoint of each unfinished run, below an absolute path or a URI (s3://..., gs://...)."""

    def __init__(self, location: str):
        from pyarrow.fs import FileSystem

        try:
            uri = location if "://" in location else Path(location).as_uri()
            self._files, self._root = FileSystem.from_uri(uri)
        except (ValueError, OSError) as error:  # such as for a relative path: workers have other current folders
            reason = str(error).split("\n")[0].rstrip(".")
            fix = "Write an absolute path, or an address such as s3://bucket/states."
            raise RequestError("checkpoints.path", f"{location}: {reason}", fix) from error

    def save(self, run: str, checkpoint: bytes) -> None:
        """Replace the checkpoint of a run by renaming a new file, so that an interruption leaves the old checkpoint."""
        self._files.create_dir(self._root, recursive=True)
        partial = f"{self._path(run)}.{os.getpid()}.partial"
        with self._files.open_output_stream(partial) as file:
            file.write(checkpoint)
        self._files.move(partial, self._path(run))

    def load(self, run: str) -> bytes | None:
        try:
            with self._files.open_input_stream(self._path(run)) as file:
                return file.read()
        except FileNotFoundError:
            return None

    def remove(self, run: str) -> None:
        """Delete the checkpoint of a run that has ended. A checkpoint that cannot be reached stays."""
        with contextlib.suppress(OSError):
            self._files.delete_file(self._path(run))

    def _path(self, run: str) -> str:
        return f"{self._root}/{run}.tar"


def pack(folder: Path) -> bytes:
    """The files of a folder as a tar archive."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        archive.add(folder, arcname=".")
    return content.getvalue()


def unpack(checkpoint: bytes, folder: Path) -> None:
    """Write the files of an archive from `pack` into a folder, and nothing outside of it."""
    with tarfile.open(fileobj=io.BytesIO(checkpoint)) as archive:
        archive.extractall(folder, filter="data")
