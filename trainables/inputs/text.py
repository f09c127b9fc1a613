"""Sentences of token ids as arrays."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Encoded:
    """Examples as a padded array of ids (int32), their lengths in tokens, and their labels."""

    ids: np.ndarray
    lengths: np.ndarray
    labels: np.ndarray

    def __len__(self) -> int:
        return len(self.labels)


def encode(sentences: Iterable[list[int]], labels: list[int], *, pad: int) -> Encoded:
    """Pad sentences of ids to the longest of them."""
    sentences = list(sentences)
    lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
    ids = np.full((len(sentences), int(lengths.max())), pad, dtype=np.int32)
    for row, sentence in zip(ids, sentences, strict=True):
        row[: len(sentence)] = sentence
    return Encoded(ids, lengths, np.array(labels, dtype=np.int64))
