"""Checkpoints of unfinished runs: where they are kept, and folders as bytes.

Workers and driver share no disk. A worker packs the state of its run and says so in its report; the driver fetches it,
keeps it in the search folder, and hands it to the worker that continues the run. Where the specification names an
address that all nodes can reach (`checkpoints.path`), workers write and read checkpoints themselves.
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
        except (ValueError, OSError) as error:  # a relative path, among others: workers have other current folders
            reason = str(error).split("\n")[0].rstrip(".")
            fix = "Write an absolute path, or an address such as s3://bucket/states."
            raise RequestError("checkpoints.path", f"{location}: {reason}", fix) from error

    def save(self, run: str, checkpoint: bytes) -> None:
        """Replace the checkpoint of a run. It is written beside the old one, then renamed: a cut leaves the old one."""
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
        """Delete the checkpoint of a run that has ended. One that cannot be reached stays."""
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
    """Write the files of `pack` into a folder, and nothing outside of it."""
    with tarfile.open(fileobj=io.BytesIO(checkpoint)) as archive:
        archive.extractall(folder, filter="data")
