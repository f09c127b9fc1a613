"""Masks tokens, and computes the loss of predicting them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from transformers import PreTrainedModel

IGNORED = -100  # the label that torch's cross entropy leaves out


@dataclass(frozen=True)
class Masking:
    """BERT's masking: of the tokens to predict 80 % become the mask token, 10 % a random token, 10 % stay."""

    mask: int  # ids
    pad: int
    special: tuple[int, ...]  # never masked, and never a random replacement
    vocabulary: int  # number of ids

    @classmethod
    def for_tokenizer(cls, tokenizer: Any) -> "Masking":
        return cls(tokenizer.mask_token_id, tokenizer.pad_token_id, tuple(tokenizer.all_special_ids), len(tokenizer))

    def __call__(self, ids: np.ndarray, rate: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Mask at least one token per block (n, L). Returns the blocks, and as labels the original ids or `IGNORED`."""
        draw = np.random.default_rng(seed)
        eligible = ~np.isin(ids, [*self.special, self.pad])
        chance = np.where(eligible, draw.random(ids.shape), 2.0)
        chosen = (chance < rate) | ((chance == chance.min(1, keepdims=True)) & eligible)
        how = draw.random(ids.shape)
        ordinary = np.setdiff1d(np.arange(self.vocabulary), self.special)
        masked = np.where(chosen & (how < 0.8), self.mask, ids)
        masked = np.where(chosen & (how >= 0.9), draw.choice(ordinary, ids.shape), masked)
        return masked.astype(np.int32), np.where(chosen, ids, IGNORED)


def mlm_loss(model: PreTrainedModel, masked: Tensor, labels: Tensor, pad: int) -> Tensor:
    """The sum of cross entropies at the masked tokens.

    Only masked tokens go through the head: with 250 000 words, logits of all tokens would take most of the memory.
    """
    states = model.base_model(input_ids=masked, attention_mask=(masked != pad).long()).last_hidden_state
    chosen = labels != IGNORED
    return cross_entropy(head_of(model)(states[chosen]).float(), labels[chosen], reduction="sum")


def head_of(model: PreTrainedModel) -> nn.Module:
    """The part of a masked language model that follows its encoder."""
    parts = [part for name, part in model.named_children() if name != model.base_model_prefix]
    if len(parts) != 1:
        raise ValueError(f"{type(model).__name__} has {len(parts)} parts after its encoder, but one is expected")
    return parts[0]
