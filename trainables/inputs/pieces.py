"""Sentences as words between white space, and as the pieces that a tokenizer makes of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

Sentences = tuple[list[str], ...]  # of an example: one, or two


def tokenise(
    tokenizer: Any,
    texts: Sequence[tuple[str, ...]],
    max_length: int,
    *,
    pad: bool = True,
    to_longest: bool = False,
    places: bool = True,
) -> Any:
    """Ids, masks and places in the text of single sentences or pairs. Padding is on the right."""
    parts = [list(part) for part in zip(*texts, strict=True)]
    return tokenizer(
        *parts,
        truncation="longest_first" if len(parts) > 1 else True,
        max_length=max_length,
        padding="max_length" if to_longest else pad,
        padding_side="right",
        return_attention_mask=True,
        return_offsets_mapping=places,
    )


def words_of(sequences: list[int | None], places: list[tuple[int, int]], sentences: Sentences) -> np.ndarray:
    """The word of each token, padding included as if it were special: its last letter says which."""
    place, sequence = np.array(places), np.array([-1 if one is None else one for one in sequences])
    words, before = np.empty(len(place), dtype=np.int64), 0
    for number, sentence in enumerate(sentences):
        lengths = np.array([len(word) for word in sentence] or [0])
        starts = np.concatenate([[0], np.cumsum(lengths + 1)[:-1] - 1])  # a space belongs to the word after it
        own = sequence == number
        last = np.maximum(place[own, 0], place[own, 1] - 1)
        words[own] = before + np.searchsorted(starts, last, side="right") - 1
        before += len(lengths)
    special = sequence < 0
    words[special] = before + np.arange(special.sum())
    return words
