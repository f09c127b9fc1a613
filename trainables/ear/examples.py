"""The training examples of a source language as words, and batches of ids for sentences and copies."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from seedwise.trainables.inputs.pieces import Sentences, tokenise, word_numbers
from seedwise.trainables.training.learner import Batch

CHUNK = 10_000  # texts that are tokenised together to count their tokens


@dataclass(frozen=True)
class Examples:
    """Sentences or sentence pairs as words between white space, their class numbers and their lengths in tokens."""

    sentences: list[Sentences]
    labels: np.ndarray
    lengths: np.ndarray
    tokenizer: Any  # a fast tokenizer, which reports the offsets of tokens
    max_length: int  # in tokens; longer inputs are truncated, the longer sentence of a pair first
    foreign: np.ndarray | None = None  # which examples are not in the synonyms' language; None: no example

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: np.ndarray) -> "Examples":
        """The examples with these row numbers, in this order."""
        foreign = None if self.foreign is None else self.foreign[rows]
        sentences = [self.sentences[row] for row in rows]
        return replace(self, sentences=sentences, labels=self.labels[rows], lengths=self.lengths[rows], foreign=foreign)

    def batch(
        self, sentences: Sequence[Sentences], device: torch.device, *, to_longest: bool = False
    ) -> tuple[Batch, Tensor, int]:
        """A batch, the word number of every token (-1 for padding), and the largest number of words.

        Words have the same numbers in all copies of an example: those of its sentences in order, then special tokens.
        With `to_longest` all inputs are padded to `max_length`, as in the paper's code.
        """
        texts = [tuple(map(" ".join, example)) for example in sentences]
        tokens = tokenise(self.tokenizer, texts, self.max_length, pad="max_length" if to_longest else True)
        mask = np.array(tokens["attention_mask"])
        words = np.full(mask.shape, -1)
        for row, (example, real) in enumerate(zip(sentences, mask.sum(1), strict=True)):
            words[row, :real] = word_numbers(tokens.sequence_ids(row), tokens["offset_mapping"][row], example)[:real]
        batch = {
            "input_ids": torch.tensor(tokens["input_ids"], device=device),
            "attention_mask": torch.from_numpy(mask).to(device),
        }
        if "token_type_ids" in tokens:
            batch["token_type_ids"] = torch.tensor(tokens["token_type_ids"], device=device)
        return batch, torch.from_numpy(words).to(device), int(words.max()) + 1


def examples(texts: Sequence[tuple[str, ...]], labels: list[int], tokenizer: Any, max_length: int) -> Examples:
    """Split texts into words, and count their tokens."""
    sentences = [tuple(text.split() for text in example) for example in texts]
    lengths: list[int] = []
    for start in range(0, len(texts), CHUNK):
        tokens = tokenise(tokenizer, texts[start : start + CHUNK], max_length, pad=False, offsets=False)
        lengths += map(len, tokens["input_ids"])
    numbers = (np.array(values, dtype=np.int64) for values in (labels, lengths))
    return Examples(sentences, *numbers, tokenizer, max_length)


def compacted(words: Tensor) -> tuple[Tensor, int]:
    """Renumber the words of sentences and copies (2 B, L) without gaps, alike in both. Also returns the largest count.

    Words that truncation removed would otherwise take up room in the maps.
    """
    numbers, half, count = words.cpu().numpy().copy(), len(words) // 2, 0
    for row in range(half):
        pair = numbers[row::half]
        known, renumbered = np.unique(pair[pair >= 0], return_inverse=True)
        pair[pair >= 0] = renumbered
        count = max(count, len(known))
    return torch.from_numpy(numbers).to(words.device), count
