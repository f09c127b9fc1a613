"""Word vectors in fastText's and word2vec's text format."""

import io
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
from pyarrow import csv

from seedwise.errors import RequestError
from seedwise.trainables.inputs.reading import Skipped

FORM = "Name a file of lines `word number number ...`."  # what to do about a file that is something else
BLOCK = 1000  # lines whose numbers are converted together, for speed
MOST_DIMENSIONS = 100_000
SHARE, LEAST = 0.01, 10  # more wrong lines than both mean that the dimension, not the lines, is wrong


def read_text(file: BinaryIO, key: str, path: Path, rows: int) -> tuple[list[str], list[np.ndarray], list[str]]:
    """The first `rows` words, blocks of their vectors, and notes."""
    first = file.readline().removeprefix(b"\xef\xbb\xbf")
    if not first.strip():
        raise RequestError(key, f"{path} is empty, or its first line is", FORM)
    header = header_of(first)
    dimensions = header[1] if header else numeric(first.split()[1:])
    if dimensions < 1:
        raise RequestError(key, f"{path} line 1 has no numbers", FORM)
    refuse_dimension(key, path, dimensions)
    text = _Text(key, path, rows, dimensions, "the header says" if header else "the first line has")
    if not header:
        text.add(1, first)
    for number, line in enumerate(file, start=2):
        if text.full:
            break
        text.add(number, line)
    text.convert()
    text.judge()
    notes = [str(noted) for noted in (text.malformed, text.repeated) if noted.count]
    if header and not text.full and header[0] != text.seen:
        notes.append(f"{text.seen} lines, where the header says {header[0]}")
    return list(text.words), text.blocks, notes


def refuse_dimension(key: str, path: Path, dimensions: int) -> None:
    """Refuse a first line that promises more numbers than vectors have: its file is something else."""
    if dimensions > MOST_DIMENSIONS:
        raise RequestError(key, f"{path} line 1 speaks of {dimensions} dimensions", "Name a file of word vectors.")


def header_of(line: bytes) -> tuple[int, int] | None:
    """Number of words and dimension, where a first line is `count dimension`."""
    fields = line.split()
    return (int(fields[0]), int(fields[1])) if len(fields) == 2 and all(map(bytes.isdigit, fields)) else None


class _Text:
    """Lines on their way to words and blocks of vectors."""

    def __init__(self, key: str, path: Path, rows: int, dimensions: int, source: str) -> None:
        self.words: dict[str, None] = {}
        self.blocks: list[np.ndarray] = []
        self.seen = 0  # lines, the header and blank ones apart
        self.malformed, self.repeated = Skipped("malformed line"), Skipped("repeated word")
        self._key, self._path, self._rows, self._dimensions = key, path, rows, dimensions
        self._source = source  # of the dimension
        self._long = 0  # lines whose word ends with a number: some words do, but not many
        self._problem = ""  # of the first malformed or long line
        self._waiting: list[tuple[int, bytes, bytes]] = []  # line number, word, numbers

    @property
    def full(self) -> bool:
        """Whether no more needs to be read: enough words, or not one in many lines."""
        return len(self.words) >= self._rows or (self.malformed.count >= BLOCK and not self.words)

    def add(self, number: int, line: bytes) -> None:
        """Take one line."""
        word, _, numbers = line.rstrip().partition(b" ")
        if numbers.count(b" ") != self._dimensions - 1:  # a word with spaces, tabs, or malformed
            fields = line.rsplit(None, self._dimensions)
            if not fields:
                return
            word, numbers = fields[0], b" ".join(fields[1:])
        self._waiting.append((number, word, numbers))
        if len(self._waiting) == BLOCK:
            self.convert()

    def convert(self) -> None:
        """Turn the waiting lines into words and a block of vectors."""
        table = _convert([numbers for _, _, numbers in self._waiting], self._dimensions)
        finite = np.isfinite(table).all(axis=1)
        kept = []
        for row, (number, word, numbers) in enumerate(self._waiting):
            if len(self.words) == self._rows:
                break
            self.seen += 1
            self._examine(number, word, numbers, whole=bool(word and finite[row]))
            if not (word and finite[row]):
                self.malformed.add(number)
                continue
            try:
                spelling = word.decode()
            except UnicodeDecodeError as error:
                raise RequestError(
                    self._key, f"{self._path} line {number} is not UTF-8", "Convert the file to UTF-8."
                ) from error
            if spelling in self.words:
                self.repeated.add(number)
            else:
                self.words[spelling] = None
                kept.append(row)
        self.blocks.append(table[kept])
        self._waiting.clear()

    def _examine(self, number: int, word: bytes, numbers: bytes, *, whole: bool) -> None:
        """Remember what speaks against the dimension."""
        spare = numeric(word.split()[1:])
        self._long += bool(spare)
        if (spare or not whole) and not self._problem:
            count = len(numbers.split()) + spare
            self._problem = (
                f"line {number} has {count} numbers where {self._source} {self._dimensions}"
                if count != self._dimensions
                else f"line {number} has no word, or a field that is no finite number"
            )

    def judge(self) -> None:
        """Refuse a file without vectors, or with so many wrong lines that the dimension must be wrong."""
        wrong = self.malformed.count + self._long
        if wrong and (wrong >= self.seen or wrong > max(LEAST, SHARE * self.seen)):
            raise RequestError(
                self._key,
                f"{self._path} {self._problem}; {wrong} of {self.seen} lines are wrong",
                "Repair or replace the file.",
            )
        if not self.words:
            raise RequestError(self._key, f"{self._path} holds no vectors", FORM)


def _convert(lines: list[bytes], dimensions: int) -> np.ndarray:
    """Lines of numbers as a float32 table; a row of NaN where a line is not `dimensions` numbers."""
    data = b"\n".join(lines)
    names = [str(column) for column in range(dimensions)]
    try:
        columns = csv.read_csv(
            io.BytesIO(data),
            csv.ReadOptions(use_threads=False, column_names=names, block_size=len(data) + 1),
            csv.ParseOptions(delimiter=" ", quote_char=False),
            csv.ConvertOptions(column_types=dict.fromkeys(names, pa.float32())),
        )
        if len(columns) == len(lines):
            return np.stack([column.to_numpy() for column in columns.columns], axis=1)
    except ValueError:
        pass  # some line is malformed: now one by one
    table = np.full((len(lines), dimensions), np.nan, dtype=np.float32)
    for row, line in zip(table, lines, strict=True):
        values = _floats(line.split())
        if values is not None and len(values) == dimensions:
            with np.errstate(over="ignore"):  # too large for float32 is infinite, thus malformed
                row[:] = values
    return table


def numeric(fields: list[bytes]) -> int:
    """How many fields at the end are numbers, in an unbroken run."""
    run = 0
    for field in reversed(fields):
        if _floats([field]) is None:
            break
        run += 1
    return run


def _floats(fields: list[bytes]) -> list[float] | None:
    try:
        return [float(field) for field in fields]
    except ValueError:
        return None
