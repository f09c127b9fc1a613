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
    number = dimensions = 0
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
            for number, line in enumerate(file, start=1):
                word, _, rest = line.decode("utf-8").rstrip().partition(" ")
                vector = np.array(rest.split(), dtype=np.float32)
                if number == 1 and vector.size == 1:  # the header
                    dimensions = int(vector[0])
                    continue
                dimensions = dimensions or vector.size
                if vector.size != dimensions or dimensions < 2:
                    raise ValueError(f"{vector.size} numbers, expected {dimensions}")
                if word not in words:
                    words[word] = len(words)
                    values.append(vector)
                if len(words) == rows:
                    break
    except (OSError, EOFError, ValueError) as error:  # a cut or foreign file, bytes that are no UTF-8, bad numbers
        raise RequestError(f"{key}: {path} line {number or 1}: {error}. Repair or replace it.") from error
    if not words:
        raise RequestError(f"{key}: {path} holds no vectors. Write the path of a .vec file.")
    return list(words), np.stack(values)
