"""Names of files, and writing files so that no reader ever sees half of one."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from seedwise.errors import RequestError


def check_file_name(where: str, name: object) -> None:
    """Refuse a name that cannot name a file or folder: one that is a path would lead to another folder."""
    if not isinstance(name, str) or not re.fullmatch(r"\w[\w.-]{0,59}", name):
        fix = "Use at most 60 letters, digits, underscores, dots and dashes, and do not begin with a dot or a dash."
        raise RequestError(where, f"{name!r} cannot be the name of a file or folder", fix)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path to write to, which is renamed to `path` if the block ends without an error, and else deleted."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        yield partial
        with open(partial, "rb") as file:
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def writing(path: Path) -> Iterator[TextIO]:
    """A text file that appears under `path` only when the block ends without an error."""
    with replacing(path) as partial, open(partial, "w", encoding="utf-8", newline="") as file:
        yield file


def write_atomically(path: Path, text: str) -> None:
    """Write `text` to `path`: to a temporary file first, then renamed over it."""
    with writing(path) as file:
        file.write(text)
