"""What all readers of files share: opening and reading them, and noting what they left out."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from seedwise.errors import RequestError

NUMBERS_SHOWN = 5  # in a note: enough to look, short enough to read


def opened(path: Path) -> BinaryIO:
    """A file to read bytes from; a name that ends in .gz is unpacked."""
    return gzip.open(path, "rb") if path.suffix == ".gz" else open(path, "rb")


@contextmanager
def readable(path: Path, key: str) -> Iterator[None]:
    """In this block, an unreadable file or a truncated archive is an error of the request at `key`."""
    try:
        yield
    except (OSError, EOFError, zlib.error) as error:
        raise RequestError(key, f"{path}: {error}", "Name a whole file that you may read.") from error


def read_lines(path: Path, key: str) -> list[str]:
    """The lines of a UTF-8 text file without its byte order mark. Only line feeds end a line."""
    try:
        with readable(path, key), opened(path) as file:
            return file.read().decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        number = error.object.count(b"\n", 0, error.start) + 1
        raise RequestError(key, f"{path} line {number} is not UTF-8", "Save it as UTF-8 text.") from error


class Skipped:
    """Counts the lines (or other units) that a reader left out for one reason, and keeps the first of their numbers."""

    def __init__(self, kind: str, unit: str = "line") -> None:
        self.kind, self.unit = kind, unit
        self.count = 0
        self.first: list[int] = []

    def add(self, number: int) -> None:
        """Count a line by its number (from 1)."""
        self.count += 1
        if self.count <= NUMBERS_SHOWN:
            self.first.append(number)

    def __str__(self) -> str:
        """For example `12 malformed lines (line 3, 17, 20, 25, 31, ...)`."""
        numbers = ", ".join(map(str, self.first)) + (", ..." if self.count > len(self.first) else "")
        return f"{self.count} {self.kind}{'s' if self.count > 1 else ''} ({self.unit} {numbers})"
