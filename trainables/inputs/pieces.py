"""Tokenises sentences, and numbers the word between white space that each piece belongs to."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

Sentences = tuple[list[str], ...]  # the words of an example's single sentence, or of its two sentences


def tokenise(
    tokenizer: Any,
    texts: Sequence[tuple[str, ...]],
    max_length: int,
    *,
    pad: bool | Literal["max_length"] = True,
    offsets: bool = True,
) -> Any:
    """Ids, masks and character offsets of single sentences or pairs, padded on the right."""
    parts = [list(part) for part in zip(*texts, strict=True)]
    return tokenizer(
        *parts,
        truncation="longest_first" if len(parts) > 1 else True,
        max_length=max_length,
        padding=pad,
        padding_side="right",
        return_attention_mask=True,
        return_offsets_mapping=offsets,
    )


def word_numbers(sequences: list[int | None], offsets: list[tuple[int, int]], sentences: Sentences) -> np.ndarray:
    """The word number of each token, that of its last character. Special tokens and padding come after all words."""
    offset, sequence = np.array(offsets), np.array([-1 if number is None else number for number in sequences])
    words, before = np.empty(len(offset), dtype=np.int64), 0
    for number, sentence in enumerate(sentences):
        lengths = np.array([len(word) for word in sentence] or [0])
        starts = np.concatenate([[0], np.cumsum(lengths + 1)[:-1] - 1])  # a space belongs to the word after it
        own = sequence == number
        last = np.maximum(offset[own, 0], offset[own, 1] - 1)
        words[own] = before + np.searchsorted(starts, last, side="right") - 1
        before += len(lengths)
    special = sequence < 0
    words[special] = before + np.arange(special.sum())
    return words
