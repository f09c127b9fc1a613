"""The training examples of a source language as words, and how sentences and copies become batches of ids."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from seedwise.trainables.inputs.pieces import Sentences, tokenise, word_numbers
from seedwise.trainables.training.learner import Batch

CHUNK = 10_000  # texts that are tokenised at once where only their lengths are wanted


@dataclass(frozen=True)
class Examples:
    """Sentences (or pairs of them) as words between white space, their class numbers and their lengths in tokens."""

    sentences: list[Sentences]
    labels: np.ndarray
    lengths: np.ndarray
    tokenizer: Any  # a fast one: only these say where in the text a token is
    max_length: int  # in tokens; longer inputs are cut, the longer sentence of a pair first
    foreign: np.ndarray | None = None  # which are of another language, that the synonyms are not of; None: no one is

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: np.ndarray) -> "Examples":
        """These examples, in this order."""
        foreign = None if self.foreign is None else self.foreign[rows]
        sentences = [self.sentences[row] for row in rows]
        return replace(self, sentences=sentences, labels=self.labels[rows], lengths=self.lengths[rows], foreign=foreign)

    def batch(
        self, sentences: Sequence[Sentences], device: torch.device, *, to_longest: bool = False
    ) -> tuple[Batch, Tensor, int]:
        """A batch, the word of every token (-1 for padding), and how many words there are at most.

        Words are numbered alike in all copies of an example: those of its sentences in order, then the special tokens.
        With `to_longest` all inputs are padded to `max_length`, as the paper's code has it.
        """
        texts = [tuple(map(" ".join, example)) for example in sentences]
        found = tokenise(self.tokenizer, texts, self.max_length, pad="max_length" if to_longest else True)
        mask = np.array(found["attention_mask"])
        words = np.full(mask.shape, -1)
        for row, (example, real) in enumerate(zip(sentences, mask.sum(1), strict=True)):
            words[row, :real] = word_numbers(found.sequence_ids(row), found["offset_mapping"][row], example)[:real]
        batch = {
            "input_ids": torch.tensor(found["input_ids"], device=device),
            "attention_mask": torch.from_numpy(mask).to(device),
        }
        if "token_type_ids" in found:
            batch["token_type_ids"] = torch.tensor(found["token_type_ids"], device=device)
        return batch, torch.from_numpy(words).to(device), int(words.max()) + 1


def examples(texts: Sequence[tuple[str, ...]], labels: list[int], tokenizer: Any, max_length: int) -> Examples:
    """Split texts into words, and count their tokens."""
    sentences = [tuple(text.split() for text in example) for example in texts]
    lengths = np.empty(len(texts), dtype=np.int64)
    for start in range(0, len(texts), CHUNK):
        found = tokenise(tokenizer, texts[start : start + CHUNK], max_length, pad=False, offsets=False)["input_ids"]
        lengths[start : start + CHUNK] = [len(ids) for ids in found]
    return Examples(sentences, np.array(labels, dtype=np.int64), lengths, tokenizer, max_length)


def compacted(words: Tensor) -> tuple[Tensor, int]:
    """Words of sentences and copies (2 B, L), numbered anew without gaps, alike in both; and how many at most.

    The words of a text that was cut are not there, and would otherwise take up room in the maps.
    """
    numbers, half, most = words.cpu().numpy().copy(), len(words) // 2, 0
    for row in range(half):
        own = numbers[row::half]
        known, place = np.unique(own[own >= 0], return_inverse=True)
        own[own >= 0] = place
        most = max(most, len(known))
    return torch.from_numpy(numbers).to(words.device), most
