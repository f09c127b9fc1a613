"""Static vectors beside the tokens of their words, and how an encoder's states become vectors of words."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel

from seedwise.errors import RequestError
from seedwise.trainables.dcca.blocks import held_out
from seedwise.trainables.inputs.text import encode
from seedwise.trainables.inputs.vectors import Vectors
from seedwise.trainables.inputs.words import NO_WORD

MOST_PIECES = 20  # of a word; longer ones are cut, as in the released code
HELD_OUT = 20  # one word in so many is never trained on
MEASURED = 500  # held-out words of each language that correlations are measured on, the most frequent ones
LEAST_MEASURED = 10  # of each language: a correlation of fewer says nothing
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
    parts, notes, start = [], [], 0
    train, fitted, measured = [], {}, {}
    for language, vectors in sets.items():
        pieces = pieces_of(vectors.words, tokenizer)
        lengths = np.linalg.norm(vectors.table, axis=1)
        word = np.array([NO_WORD.fullmatch(one) is None for one in vectors.words])
        known = word & ~(pieces.ids == tokenizer.unk_token_id).any(1) & (pieces.lengths > 2) & (lengths > 0)
        if left_out := int(word.sum() - known.sum()):
            why = "words have pieces that the encoder lacks, or no direction"
            notes.append(f"{key}.{language}: {left_out} of {word.sum()} {why}")
        chosen = np.flatnonzero(known)
        apart = np.array([held_out(vectors.words[row], HELD_OUT) for row in chosen], dtype=bool)
        if apart.sum() < LEAST_MEASURED:
            raise RequestError(
                f"{key}.{language}",
                f"{apart.sum()} words are left to measure by, one in {HELD_OUT} of {len(chosen)}",
                f"Name a file with {HELD_OUT * LEAST_MEASURED * 2} words or more that the encoder knows.",
            )
        rows = start + np.arange(len(chosen))
        train.append(rows[~apart])
        fitted[language], measured[language] = rows[~apart][:FITTED], rows[apart][:MEASURED]
        start += len(chosen)
        parts.append((pieces, vectors.table, lengths, chosen))
    longest = max(int(pieces.lengths[chosen].max()) for pieces, _, _, chosen in parts)
    ids = np.full((start, longest), tokenizer.pad_token_id, dtype=np.int32)
    table = np.empty((start, parts[0][1].shape[1]), dtype=np.float32)  # filled in place: it may be most of the memory
    first = 0
    for pieces, vectors, lengths, chosen in parts:
        here, width = slice(first, first + len(chosen)), min(longest, pieces.ids.shape[1])
        ids[here, :width] = pieces.ids[chosen, :width]
        table[here] = vectors[chosen] / lengths[chosen, None]
        first += len(chosen)
    counts = np.concatenate([pieces.lengths[chosen] for pieces, _, _, chosen in parts])
    return Static(Pieces(ids, counts), table, np.concatenate(train), fitted, measured), notes


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
        if self.padding == "attended" and self.pad != 0:  # D3: masks are padded with the padding id, 1 for XLM-R
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
