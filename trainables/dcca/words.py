"""Static vectors with the tokens of their words, and word vectors computed from an encoder's states."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel

from seedwise.errors import RequestError
from seedwise.trainables.dcca.blocks import held_out
from seedwise.trainables.ear.targets import pooled
from seedwise.trainables.inputs.text import Encoded, encode
from seedwise.trainables.inputs.vectors import Vectors
from seedwise.trainables.inputs.words import NO_WORD

MAX_PIECES = 20  # most pieces of a word; longer words are cut, as in the released code
HELD_OUT = 20  # one word in this many is never trained on
MEASURED = 500  # most frequent held-out words of each language, on which correlations are measured
LEAST_MEASURED = 10  # fewest held-out words of each language: a correlation of fewer words is meaningless
FITTED = 2000  # most frequent words of each language, on which the directions of these correlations are fitted


@dataclass(frozen=True)
class StaticVectors:
    """A set of static vectors over all languages, at unit length, with the pieces of their words.

    `train` holds the rows that may be trained on; `fitted` and `measured`, by language, the rows for the score.
    """

    pieces: Encoded
    table: np.ndarray
    train: np.ndarray
    fitted: dict[str, np.ndarray]
    measured: dict[str, np.ndarray]


def pieces_of(words: list[str], tokenizer: Any) -> Encoded:
    """The tokens of isolated words, special tokens included. The labels are placeholders."""
    ids = tokenizer(words, truncation=True, max_length=MAX_PIECES + 2, return_attention_mask=False)["input_ids"]
    return encode(ids, [0] * len(ids), pad=tokenizer.pad_token_id)


def join(sets: dict[str, Vectors], tokenizer: Any, key: str) -> tuple[StaticVectors, list[str]]:
    """Join the vectors of all languages to one set, with notes. Words that the tokenizer does not know are left out."""
    parts, notes, start = [], [], 0
    train, fitted, measured = [], {}, {}
    for language, vectors in sets.items():
        pieces, norms = pieces_of(vectors.words, tokenizer), np.linalg.norm(vectors.table, axis=1)
        is_word = np.array([NO_WORD.fullmatch(word) is None for word in vectors.words])
        known = is_word & ~(pieces.ids == tokenizer.unk_token_id).any(1) & (pieces.lengths > 2) & (norms > 0)
        if left_out := int(is_word.sum() - known.sum()):
            why = "words have pieces that the encoder lacks, or a zero vector"
            notes.append(f"{key}.{language}: {left_out} of {is_word.sum()} {why}")
        chosen = np.flatnonzero(known)
        apart = np.array([held_out(vectors.words[row], HELD_OUT) for row in chosen], dtype=bool)
        if apart.sum() < LEAST_MEASURED:
            raise RequestError(
                f"{key}.{language}",
                f"{apart.sum()} words are held out for the correlation score, one in {HELD_OUT} of {len(chosen)}",
                f"Name a file with {HELD_OUT * LEAST_MEASURED * 2} words or more that the encoder knows.",
            )
        rows = start + np.arange(len(chosen))
        train.append(rows[~apart])
        fitted[language], measured[language] = rows[~apart][:FITTED], rows[apart][:MEASURED]
        parts.append((slice(start, start + len(chosen)), pieces.take(chosen), vectors.table, chosen, norms))
        start += len(chosen)
    lengths = np.concatenate([pieces.lengths for _, pieces, *_ in parts])
    ids = np.full((start, lengths.max()), tokenizer.pad_token_id, dtype=np.int32)
    table = np.empty((start, parts[0][2].shape[1]), dtype=np.float32)  # filled in place: it may be most of the memory
    for rows, pieces, vectors, chosen, norms in parts:
        width = min(ids.shape[1], pieces.ids.shape[1])
        ids[rows, :width] = pieces.ids[:, :width]
        table[rows] = vectors[chosen] / norms[chosen, None]
    encoded = Encoded(ids, lengths, np.zeros_like(lengths))
    return StaticVectors(encoded, table, np.concatenate(train), fitted, measured), notes


@dataclass(frozen=True)
class Encoding:
    """Turns a batch of isolated words into vectors, as the options of the same names say."""

    pad: int
    layer: int | str
    pooling: str
    padding: str

    def batch(self, pieces: Encoded, rows: np.ndarray, device: torch.device) -> tuple[Tensor, Tensor]:
        """The ids of these words, padded to the longest word, and their mask."""
        lengths = torch.from_numpy(pieces.lengths[rows])
        longest = int(lengths.max())
        ids = torch.from_numpy(pieces.ids[rows, :longest].astype(np.int64))
        return ids.to(device), (torch.arange(longest) < lengths[:, None]).to(device)

    def __call__(self, model: PreTrainedModel, batch: tuple[Tensor, Tensor]) -> Tensor:
        """Vectors (n, d) of the words of a batch."""
        ids, mask = batch
        if self.padding == "attended" and self.pad != 0:  # D3: masks are padded with the padding id, 1 for XLM-R
            mask = torch.ones_like(mask)
        states = states_of(model, ids, mask, self.layer)
        if self.pooling == "cls":
            return states[:, 0]
        if self.pooling == "pieces":
            lengths = (ids != self.pad).sum(1, keepdim=True)
            position = torch.arange(ids.shape[1], device=ids.device)
            mask = mask & (position > 0) & ((position < lengths - 1) | (position >= lengths))
        return pooled(states, mask)


def states_of(model: PreTrainedModel, ids: Tensor, mask: Tensor, layer: int | str) -> Tensor:
    """The output of a layer, counted from 1, or of the last layer."""
    output = model.base_model(input_ids=ids, attention_mask=mask.long(), output_hidden_states=layer != "last")
    return output.last_hidden_state if layer == "last" else output.hidden_states[layer]
