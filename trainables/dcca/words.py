"""Static vectors beside the tokens of their words, and how an encoder's states become vectors of words."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel

from trainables.dcca.blocks import held_out
from trainables.inputs.text import encode
from trainables.inputs.vectors import Vectors
from trainables.inputs.words import NO_WORD

MOST_PIECES = 20  # of a word; longer ones are cut, as in the released code
HELD_OUT = 20  # one word in so many is never trained on
MEASURED = 500  # held-out words of each language that correlations are measured on, the most frequent ones
FITTED = 2000  # words of each language, the most frequent ones, that the directions of that measure are fitted on


@dataclass(frozen=True)
class Pieces:
    """Words as token ids, special tokens included: (n, longest) padded, and their lengths."""

    ids: np.ndarray
    lengths: np.ndarray

    def __len__(self) -> int:
        return len(self.lengths)


@dataclass(frozen=True)
class Static:
    """A set of static vectors over all languages, at unit length, beside the pieces of their words.

    `train` are the rows that may be trained on; `fitted` and `measured`, by language, those of the held-out measure.
    """

    pieces: Pieces
    table: np.ndarray
    train: np.ndarray
    fitted: dict[str, np.ndarray]
    measured: dict[str, np.ndarray]


def pieces_of(words: list[str], tokenizer: Any) -> Pieces:
    """The tokens of isolated words."""
    found = tokenizer(words, truncation=True, max_length=MOST_PIECES + 2, return_attention_mask=False)["input_ids"]
    encoded = encode(found, [0] * len(found), pad=tokenizer.pad_token_id)
    return Pieces(encoded.ids, encoded.lengths)


def join(sets: dict[str, Vectors], tokenizer: Any, key: str) -> tuple[Static, list[str]]:
    """The vectors of all languages as one set, and notes. Words that the tokenizer does not know are left out."""
    ids, tables, notes = [], [], []
    train, fitted, measured, start = [], {}, {}, 0
    for language, vectors in sets.items():
        words = [word for word in vectors.words if not NO_WORD.fullmatch(word)]
        pieces = pieces_of(words, tokenizer)
        known = ~(pieces.ids == tokenizer.unk_token_id).any(1) & (pieces.lengths > 2)
        table = vectors.table[[row for row, word in enumerate(vectors.words) if not NO_WORD.fullmatch(word)]]
        known &= np.linalg.norm(table, axis=1) > 0
        if left_out := int((~known).sum()):
            why = "words have pieces that the encoder lacks, or no direction"
            notes.append(f"{key}.{language}: {left_out} of {len(words)} {why}")
        ids += [row[:length].tolist() for row, length in zip(pieces.ids[known], pieces.lengths[known], strict=True)]
        tables.append(table[known] / np.linalg.norm(table[known], axis=1, keepdims=True))
        apart = np.array(
            [held_out(word, HELD_OUT) for word, kept in zip(words, known, strict=True) if kept], dtype=bool
        )
        rows = start + np.arange(len(apart))
        train.append(rows[~apart])
        fitted[language], measured[language] = rows[~apart][:FITTED], rows[apart][:MEASURED]
        start += len(apart)
    encoded = encode(ids, [0] * len(ids), pad=tokenizer.pad_token_id)
    static = Static(
        Pieces(encoded.ids, encoded.lengths),
        np.concatenate(tables).astype(np.float32),
        np.concatenate(train),
        fitted,
        measured,
    )
    return static, notes


@dataclass(frozen=True)
class Encoding:
    """How a batch of isolated words becomes vectors: see the options of the same names."""

    pad: int
    layer: int | str
    pooling: str
    padding: str

    def batch(self, pieces: Pieces, rows: np.ndarray, device: torch.device) -> tuple[Tensor, Tensor]:
        """Ids of these words, cut to the longest of them, and which of them are there."""
        lengths = torch.from_numpy(pieces.lengths[rows])
        longest = int(lengths.max())
        ids = torch.from_numpy(pieces.ids[rows, :longest].astype(np.int64))
        return ids.to(device), (torch.arange(longest) < lengths[:, None]).to(device)

    def __call__(self, model: PreTrainedModel, batch: tuple[Tensor, Tensor]) -> Tensor:
        """Vectors (n, d) of the words of a batch."""
        ids, there = batch
        if self.padding == "attended":  # D3: what is padding depends on the longest word of the batch
            there = torch.ones_like(there)
        states = states_of(model, ids, there, self.layer)
        if self.pooling == "cls":
            return states[:, 0]
        if self.pooling == "pieces":
            lengths = (ids != self.pad).sum(1, keepdim=True)
            place = torch.arange(ids.shape[1], device=ids.device)
            there = there & (place > 0) & ((place < lengths - 1) | (place >= lengths))
        return pooled(states, there)


def states_of(model: PreTrainedModel, ids: Tensor, there: Tensor, layer: int | str) -> Tensor:
    """The output of a layer, counted from 1, or of the last."""
    seen = model.base_model(input_ids=ids, attention_mask=there.long(), output_hidden_states=layer != "last")
    return seen.last_hidden_state if layer == "last" else seen.hidden_states[layer]


def pooled(states: Tensor, there: Tensor) -> Tensor:
    """The mean of the states of what is there."""
    weights = there.to(states.dtype).unsqueeze(-1)
    return (states * weights).sum(1) / weights.sum(1).clamp_min(1)
