"""Word vectors in fastText's and word2vec's text format."""

import io
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
from pyarrow import csv

from seedwise.errors import RequestError
from seedwise.trainables.inputs.files import Skipped

EXPECTED = "Name a file of lines `word number number ...`."
BLOCK = 1000  # lines whose numbers are converted together, for speed
MAX_DIMENSIONS = 100_000
SHARE, LEAST = 0.01, 10  # if more lines than both limits are wrong, the dimension is wrong and not the lines


def read_text(file: BinaryIO, key: str, path: Path, rows: int) -> tuple[list[str], list[np.ndarray], list[str]]:
    """The first `rows` words, blocks of their vectors, and notes on the lines that were left out."""
    first = file.readline().removeprefix(b"\xef\xbb\xbf")
    if not first.strip():
        raise RequestError(key, f"{path} is empty, or its first line is", EXPECTED)
    header = header_of(first, key, path)
    dimensions = header[1] if header else numbers_at_end(first.split()[1:])
    if dimensions < 1:
        raise RequestError(key, f"{path} line 1 has no numbers", EXPECTED)
    lines = enumerate(file, start=2)
    fields = _split(lines if header else chain([(1, first)], lines), dimensions)
    words: dict[str, None] = {}
    blocks: list[np.ndarray] = []
    malformed, repeated = Skipped("malformed line"), Skipped("repeated word")
    total = suspect = 0  # lines; lines whose word ends with a number: some words do, but not many
    problem = ""  # of the first malformed or suspect line
    while len(words) < rows and (words or malformed.count < BLOCK) and (block := list(islice(fields, BLOCK))):
        table = _convert([numbers for _, _, numbers in block], dimensions)
        finite = np.isfinite(table).all(axis=1)
        kept = []
        for row, (number, word, numbers) in enumerate(block):
            if len(words) == rows:
                break
            total += 1
            valid, extra = word and finite[row], numbers_at_end(word.split()[1:])
            suspect += bool(extra)
            if (extra or not valid) and not problem:
                count, source = len(numbers.split()) + extra, "the header says" if header else "the first line has"
                problem = f"line {number} has no word, or a field that is no finite number"
                if count != dimensions:
                    problem = f"line {number} has {count} numbers, but {source} {dimensions}"
            if not valid:
                malformed.add(number)
                continue
            try:
                spelling = word.decode()
            except UnicodeDecodeError as error:
                raise RequestError(key, f"{path} line {number} is not UTF-8", "Convert the file to UTF-8.") from error
            if spelling in words:
                repeated.add(number)
            else:
                words[spelling] = None
                kept.append(row)
        blocks.append(table[kept])
    wrong = malformed.count + suspect
    if wrong and (wrong >= total or wrong > max(LEAST, SHARE * total)):
        raise RequestError(key, f"{path} {problem}; {wrong} of {total} lines are wrong", "Repair or replace the file.")
    if not words:
        raise RequestError(key, f"{path} holds no vectors", EXPECTED)
    notes = [str(skipped) for skipped in (malformed, repeated) if skipped.count]
    if header and len(words) < rows and header[0] != total:
        notes.append(f"{total} lines, but the header says {header[0]}")
    return list(words), blocks, notes


def header_of(line: bytes, key: str, path: Path) -> tuple[int, int] | None:
    """The number of words and the dimension if the first line is `count dimension`, else None."""
    fields = line.split()
    if len(fields) != 2 or not all(map(bytes.isdigit, fields)):
        return None
    count, dimensions = map(int, fields)
    if dimensions > MAX_DIMENSIONS:  # then it is not a file of word vectors
        raise RequestError(key, f"{path} line 1 promises {dimensions} dimensions", "Name a file of word vectors.")
    return count, dimensions


def numbers_at_end(fields: list[bytes]) -> int:
    """The number of fields at the end of a line that are numbers, counted back to the first that is not."""
    count = 0
    while count < len(fields) and _floats([fields[-1 - count]]) is not None:
        count += 1
    return count


def _split(lines: Iterable[tuple[int, bytes]], dimensions: int) -> Iterator[tuple[int, bytes, bytes]]:
    """Line number, word and numbers of each line that is not blank."""
    for number, line in lines:
        word, _, numbers = line.rstrip().partition(b" ")
        if numbers.count(b" ") != dimensions - 1:  # a word with spaces, tabs, or a malformed line
            fields = line.rsplit(None, dimensions)
            if not fields:
                continue
            word, numbers = fields[0], b" ".join(fields[1:])
        yield number, word, numbers


def _convert(lines: list[bytes], dimensions: int) -> np.ndarray:
    """Lines of numbers as a float32 table; a line without exactly `dimensions` numbers is a row of NaN."""
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
        pass  # some line is malformed: convert line by line
    table = np.full((len(lines), dimensions), np.nan, dtype=np.float32)
    for row, line in zip(table, lines, strict=True):
        values = _floats(line.split())
        if values is not None and len(values) == dimensions:
            with np.errstate(over="ignore"):  # numbers too large for float32 become infinite, and the line malformed
                row[:] = values
    return table


def _floats(fields: list[bytes]) -> list[float] | None:
    try:
        return [float(field) for field in fields]
    except ValueError:
        return None
