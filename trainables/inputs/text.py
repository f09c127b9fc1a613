"""Sentences of token ids as arrays."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike


@dataclass(frozen=True)
class Encoded:
    """Examples as a padded array of ids (int32), their lengths in tokens and their labels.

    `types` (int8) says which sentence of a pair each token belongs to, for encoders that distinguish both sentences.
    """

    ids: np.ndarray
    lengths: np.ndarray
    labels: np.ndarray
    types: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: np.ndarray) -> "Encoded":
        """The examples with these row numbers, in this order."""
        types = None if self.types is None else self.types[rows]
        return Encoded(self.ids[rows], self.lengths[rows], self.labels[rows], types)


def encode(
    sentences: Iterable[list[int]], labels: list[int], *, pad: int, types: Sequence[list[int]] | None = None
) -> Encoded:
    """Pad sentences of ids to the longest sentence."""
    sentences = list(sentences)
    return Encoded(
        padded(sentences, pad, np.int32),
        np.array([len(sentence) for sentence in sentences], dtype=np.int64),
        np.array(labels, dtype=np.int64),
        None if types is None else padded(types, 0, np.int8),
    )


def padded(lists: Sequence[list[int]], fill: int, dtype: DTypeLike) -> np.ndarray:
    """Lists of numbers as the rows of an array; short rows end with `fill`."""
    table = np.full((len(lists), max(map(len, lists), default=1)), fill, dtype=dtype)
    for row, values in zip(table, lists, strict=True):
        row[: len(values)] = values
    return table
