"""Static word vectors in fastText's text format (.vec, .vec.gz)."""

import gzip
from pathlib import Path

import numpy as np

from search.errors import RequestError


def read_vectors(path: Path, key: str, *, rows: int) -> tuple[list[str], np.ndarray]:
    """Words and their float32 vectors, in the file's order (most frequent first), at most `rows` of them.

    The first line `count dimensions` is optional. Of a word that stands twice the first, more frequent one is kept.
    """
    words: dict[str, int] = {}
    values: list[np.ndarray] = []
    with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
        dimensions = 0
        for number, line in enumerate(file, start=1):
            word, _, rest = line.rstrip().partition(b" ")
            vector = np.array(rest.split(), dtype=np.float32) if rest else np.empty(0, np.float32)
            if number == 1 and vector.size == 1:  # the header
                dimensions = int(vector[0])
                continue
            dimensions = dimensions or vector.size
            if vector.size != dimensions or dimensions < 2:
                raise RequestError(
                    f"{key}: {path} line {number} has {vector.size} numbers, expected {dimensions}. Repair that line."
                )
            if (text := word.decode("utf-8", errors="strict")) not in words:
                words[text] = len(words)
                values.append(vector)
            if len(words) == rows:
                break
    if not words:
        raise RequestError(f"{key}: {path} holds no vectors.")
    return list(words), np.stack(values)
