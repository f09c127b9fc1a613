"""What all readers of files share: opening them, and saying what they left out."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from seedwise.errors import RequestError

SHOWN = 5  # numbers in a note: enough to look, short enough to read


def opened(path: Path) -> BinaryIO:
    """A file for reading bytes; one that ends in .gz is unpacked on the way."""
    return gzip.open(path, "rb") if path.suffix == ".gz" else open(path, "rb")


@contextmanager
def readable(path: Path, key: str) -> Iterator[None]:
    """In this block, a file that cannot be read, or a cut archive, is an error of the request below `key`."""
    try:
        yield
    except (OSError, EOFError, zlib.error) as error:
        raise RequestError(key, f"{path}: {error}", "Name a whole file that you may read.") from error


class Noted:
    """Counts things of one kind that a reader met and remembers where the first of them are."""

    def __init__(self, kind: str, unit: str = "line") -> None:
        self.kind = kind
        self.unit = unit  # what the numbers count
        self.count = 0
        self.first: list[int] = []

    def add(self, number: int) -> None:
        """Count one more, with its number from 1."""
        self.count += 1
        if len(self.first) < SHOWN:
            self.first.append(number)

    def __str__(self) -> str:
        """Such as `12 malformed lines (line 3, 17, 20, 25, 31, ...)`."""
        numbers = ", ".join(map(str, self.first)) + (", ..." if self.count > len(self.first) else "")
        return f"{self.count} {self.kind}{'s' if self.count > 1 else ''} ({self.unit} {numbers})"
