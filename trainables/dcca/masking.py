"""Masked words: which tokens are hidden, by what, and the loss of guessing them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from transformers import PreTrainedModel

IGNORED = -100  # the label that torch's cross entropy leaves out


@dataclass(frozen=True)
class Hiding:
    """BERT's masking: of the tokens to be guessed 80 % become the mask token, 10 % any other, 10 % stay."""

    mask: int  # ids
    pad: int
    special: tuple[int, ...]  # never hidden, never put in
    vocabulary: int  # number of ids

    @classmethod
    def of(cls, tokenizer: Any) -> "Hiding":
        return cls(tokenizer.mask_token_id, tokenizer.pad_token_id, tuple(tokenizer.all_special_ids), len(tokenizer))

    def __call__(self, ids: np.ndarray, rate: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Blocks (n, L) with tokens hidden, and the labels: the hidden ids, `IGNORED` elsewhere. At least one each."""
        draw = np.random.default_rng(seed)
        open_to_it = ~np.isin(ids, [*self.special, self.pad])
        chance = np.where(open_to_it, draw.random(ids.shape), 2.0)
        chosen = (chance < rate) | ((chance == chance.min(1, keepdims=True)) & open_to_it)
        how = draw.random(ids.shape)
        ordinary = np.setdiff1d(np.arange(self.vocabulary), self.special)
        hidden = np.where(chosen & (how < 0.8), self.mask, ids)
        hidden = np.where(chosen & (how >= 0.9), draw.choice(ordinary, ids.shape), hidden)
        return hidden.astype(np.int32), np.where(chosen, ids, IGNORED)


def guessing_loss(model: PreTrainedModel, hidden: Tensor, labels: Tensor, pad: int) -> Tensor:
    """The sum of cross entropies at the hidden tokens.

    The head is applied there and nowhere else: over 250 000 words, logits of all tokens would be most of the memory.
    """
    states = model.base_model(input_ids=hidden, attention_mask=(hidden != pad).long()).last_hidden_state
    here = labels != IGNORED
    return cross_entropy(head_of(model)(states[here]).float(), labels[here], reduction="sum")


def head_of(model: PreTrainedModel) -> nn.Module:
    """The part of a masked language model that follows its encoder."""
    parts = [part for name, part in model.named_children() if name != model.base_model_prefix]
    if len(parts) != 1:
        raise ValueError(f"{type(model).__name__} has {len(parts)} parts after its encoder, where one is expected")
    return parts[0]
