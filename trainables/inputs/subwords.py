"""Vectors of out-of-vocabulary words from the character n-grams of a fastText model (optional extra `fasttext`)."""

from pathlib import Path

import numpy as np

from seedwise.errors import RequestError
from seedwise.trainables.inputs.cache import cached, pack
from seedwise.trainables.inputs.files import checksum, opened, readable

MAGIC = (793712314).to_bytes(4, "little")  # the first bytes of fastText's binary models
VERSION = 1  # of the cached arrays; a new version parses every model again


class Subwords:
    """The n-gram vectors of a fastText binary model (.bin, .bin.gz), memory-mapped after the first reading.

    `key` is the specification's key, for errors.
    """

    def __init__(self, path: Path, key: str) -> None:
        with readable(path, key):
            if not is_fasttext(path):
                problem = f"{path} is not a fastText binary model, which vectors of unknown words need"
                raise RequestError(key, problem, "Name a .bin file of fastText in inputs.subwords.")
        arrays = read_fasttext(path, key)
        self._ngrams, self._lengths = arrays["ngrams"], arrays["lengths"].tolist()

    @property
    def dimensions(self) -> int:
        return self._ngrams.shape[1]

    def vector(self, word: str) -> np.ndarray | None:
        """The mean of the vectors of the word's n-grams (float32); None if the word is too short to have any."""
        from gensim.models.fasttext import ft_ngram_hashes

        rows = ft_ngram_hashes(word, *self._lengths, len(self._ngrams)) if len(self._ngrams) else []
        return self._ngrams[rows].mean(axis=0) if len(rows) else None


def is_fasttext(path: Path) -> bool:
    """Whether a file has .bin in its name and begins like a fastText model."""
    if ".bin" not in path.suffixes:
        return False
    with opened(path) as file:
        return file.read(len(MAGIC)) == MAGIC


def read_fasttext(path: Path, key: str) -> dict[str, np.ndarray]:
    """A model's `words` (packed), their vectors `table`, n-gram vectors by bucket `ngrams`, and n-gram `lengths` (2).

    The first reading needs memory for the whole model, more than 10 GB for some published models.
    """
    try:
        from gensim.models.fasttext import load_facebook_vectors
    except ImportError as error:
        problem = f"{path} is a fastText binary model, which needs gensim"
        raise RequestError(key, problem, "Install seedwise[fasttext].") from error

    def make() -> dict[str, np.ndarray]:
        try:
            model = load_facebook_vectors(str(path))
        except Exception as error:  # gensim raises all kinds of errors on a truncated or foreign file
            raise RequestError(key, f"{path} cannot be read: {error}", "Is it a whole fastText model?") from error
        return {
            "words": pack(model.index_to_key),
            "table": np.asarray(model.vectors, dtype=np.float32),
            "ngrams": np.asarray(model.vectors_ngrams, dtype=np.float32),
            "lengths": np.array([model.min_n, model.max_n]),
        }

    return cached("fasttext", {"file": checksum(path), "version": VERSION}, make)
