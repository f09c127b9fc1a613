"""Finds, opens and reads the files and folders that a specification names, and notes which lines were left out."""

import gzip
import hashlib
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from seedwise.errors import MissingFile, RequestError
from seedwise.paths import resolved

FILES = Path(__file__).resolve().parent.parent / "world" / "files"  # of the embedded world
NUMBERS_SHOWN = 5  # most line numbers in a note, so that the note stays short


def path_of(name: str) -> Path:
    """The path that a specification names: relative to the folder of its search, or `world:NAME`."""
    return FILES / name.removeprefix("world:") if name.startswith("world:") else resolved(name)


def locate(name: str, key: str, *, folder: bool = False) -> Path:
    """The path of a file or folder (see `path_of`), which must exist."""
    path = path_of(name)
    if not (path.is_dir() if folder else path.is_file()):
        kind = "folder" if folder else "file"
        raise MissingFile(key, f"{name}: there is no such {kind}", "Write the path of one that exists.", name)
    return path


def checksum(path: Path) -> str:
    """SHA-256 of a file, or of all files of a folder with their names."""
    digest = hashlib.sha256()
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file():
            if path.is_dir():
                digest.update(file.relative_to(path).as_posix().encode())
            with open(file, "rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()


def opened(path: Path) -> BinaryIO:
    """Open a file to read its bytes; a file whose name ends in .gz is unpacked."""
    return gzip.open(path, "rb") if path.suffix == ".gz" else open(path, "rb")


@contextmanager
def readable(path: Path, key: str) -> Iterator[None]:
    """Turn errors from an unreadable file or a truncated archive in this block into a RequestError at `key`."""
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
    """Counts the lines (or other units) that a reader left out for one reason, and keeps the first line numbers."""

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
