"""Static word vectors: fastText and word2vec, text and binary, parsed once and cached as memory-mapped arrays."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from seedwise.trainables.inputs.cache import cached, pack, unpack
from seedwise.trainables.inputs.files import checksum, opened, readable
from seedwise.trainables.inputs.subwords import is_fasttext, read_fasttext
from seedwise.trainables.inputs.vectors_binary import read_binary
from seedwise.trainables.inputs.vectors_text import read_text

VERSION = 1  # of the cached arrays; a new version parses every file again


@dataclass(frozen=True)
class Vectors:
    """Distinct words in the file's order (most frequent first), their float32 vectors, and notes on lines left out."""

    words: list[str]
    table: np.ndarray
    notes: tuple[str, ...]


def read_vectors(path: Path, key: str, *, rows: int) -> Vectors:
    """The first `rows` words of a file and their vectors. `key` is the specification's key, for errors.

    Text (.vec, .txt, also .gz): `word v1 ... vd` lines, with or without a first line `count d`. A word may hold spaces.
    Malformed lines and repeated words are left out and noted; too many are an error, since the dimension is then wrong.
    Binary (.bin, also .gz): word2vec's format, or fastText's models (needs the extra `fasttext`), told apart by
    content. The cache key is the file's content: reading the file again takes only the time of a checksum.
    """
    with readable(path, key):
        if is_fasttext(path):
            model = read_fasttext(path, key)
            return Vectors(unpack(model["words"])[:rows], model["table"][:rows], ())
        binary = ".bin" in path.suffixes
        arrays = cached(
            "vectors",
            {"file": checksum(path), "binary": binary, "rows": rows, "version": VERSION},
            lambda: _arrays(path, key, rows, binary=binary),
        )
    return Vectors(unpack(arrays["words"]), arrays["table"], tuple(unpack(arrays["notes"])))


def _arrays(path: Path, key: str, rows: int, *, binary: bool) -> dict[str, np.ndarray]:
    """The arrays that are cached for a file."""
    with opened(path) as file:
        words, blocks, notes = (read_binary if binary else read_text)(file, key, path, rows)
    table, end = np.empty((len(words), blocks[0].shape[1]), dtype=np.float32), len(words)
    while blocks:  # from the last block on, each freed at once, so that memory never holds the table twice
        block = blocks.pop()
        table[end - len(block) : end] = block
        end -= len(block)
    return {"words": pack(words), "table": table, "notes": pack(notes)}
