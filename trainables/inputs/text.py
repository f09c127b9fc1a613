"""Sentences of token ids as arrays."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Encoded:
    """Examples as a padded array of ids (int32), their lengths in tokens, their labels, and where an encoder tells the
    two sentences of a pair apart, which of them a token is of (int8)."""

    ids: np.ndarray
    lengths: np.ndarray
    labels: np.ndarray
    types: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: np.ndarray) -> "Encoded":
        """These examples, in this order."""
        types = None if self.types is None else self.types[rows]
        return Encoded(self.ids[rows], self.lengths[rows], self.labels[rows], types)


def encode(
    sentences: Iterable[list[int]], labels: list[int], *, pad: int, types: Iterable[list[int]] | None = None
) -> Encoded:
    """Pad sentences of ids to the longest of them."""
    sentences = list(sentences)
    lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
    ids = np.full((len(sentences), int(lengths.max())), pad, dtype=np.int32)
    for row, sentence in zip(ids, sentences, strict=True):
        row[: len(sentence)] = sentence
    padded = None
    if types is not None:
        padded = np.zeros(ids.shape, dtype=np.int8)
        for row, of_tokens in zip(padded, types, strict=True):
            row[: len(of_tokens)] = of_tokens
    return Encoded(ids, lengths, np.array(labels, dtype=np.int64), padded)
