"""Writes word vectors in fastText's text format."""

import gzip
import io
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
from pyarrow import csv

from seedwise.errors import RequestError
from seedwise.files import replacing

BLOCK = 1000  # rows that are converted together, for speed
SPACE = set(" \t\n\r\v\f")


def write_vectors(path: Path, words: Sequence[str], table: np.ndarray) -> None:
    """Write `n d`, then `word v1 ... vd` lines, compressed if the name ends in .gz. No partial file is left behind.

    Numbers are the shortest decimals that give the same float32 again. The same vectors always give the same bytes.
    """
    table = np.asarray(table, dtype=np.float32)
    for row, word in enumerate(words):
        if not word or SPACE.intersection(word):
            raise RequestError(
                str(path), f"word {row + 1}, {word!r}, is empty or holds a space", "Join its parts, or drop it."
            )
    bad = np.flatnonzero(~np.isfinite(table).all(axis=1))
    if len(bad):
        raise RequestError(
            str(path), f"the vector of {words[bad[0]]!r} is not finite", "Drop the word, or check where it is from."
        )
    with replacing(path) as partial, open(partial, "wb") as file:
        if path.suffix != ".gz":
            _write(file, words, table)
            return
        # The archive holds no time and no file name, which would differ between writes.
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, compresslevel=6, mtime=0) as archive:
            _write(archive, words, table)


def _write(file: BinaryIO, words: Sequence[str], table: np.ndarray) -> None:
    file.write(f"{len(words)} {table.shape[1]}\n".encode())
    for first in range(0, len(words), BLOCK):
        block = table[first : first + BLOCK]
        numbers = io.BytesIO()
        columns = pa.table({str(column): block[:, column] for column in range(block.shape[1])})
        csv.write_csv(columns, numbers, csv.WriteOptions(include_header=False, delimiter=" "))
        lines = numbers.getvalue().splitlines(keepends=True)
        for word, line in zip(words[first : first + BLOCK], lines, strict=True):
            file.write(word.encode() + b" " + line)
