"""Text to token ids: the encoder's own pieces for the source, whole words for a target with static vectors."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

WORD = re.compile(r"\w+|[^\w\s]")  # a run of letters and digits, or one sign


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


def split_words(text: str) -> list[str]:
    """Whole words and single signs; white space separates and disappears."""
    return WORD.findall(text)


def find_word(word: str, rows: dict[str, int], *, unknown: str) -> int | None:
    """The row of a word in a vocabulary. `unknown: lowercase` tries the lower case before it gives up."""
    row = rows.get(word)
    return rows.get(word.lower()) if row is None and unknown == "lowercase" else row
