"""Checks file names, and writes files so that no reader ever sees a partial file."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from seedwise.errors import RequestError


def check_file_name(where: str, name: object) -> None:
    """Refuse a name that is not the plain name of a file or folder: a path would lead to another folder."""
    if not isinstance(name, str) or not re.fullmatch(r"\w[\w.-]{0,59}", name):
        fix = "Use at most 60 letters, digits, underscores, dots and dashes, and do not begin with a dot or a dash."
        raise RequestError(where, f"{name!r} cannot be the name of a file or folder", fix)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path, which is renamed to `path` if the block ends without an error, and deleted otherwise."""
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
    """Yield an open text file, which appears at `path` only if the block ends without an error."""
    with replacing(path) as partial, open(partial, "w", encoding="utf-8", newline="") as file:
        yield file


def write_atomically(path: Path, text: str) -> None:
    """Write `text` to a temporary file, then rename that file to `path`."""
    with writing(path) as file:
        file.write(text)
