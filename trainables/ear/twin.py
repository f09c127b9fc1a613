"""A classifier that reads sentences and their copies in one pass, with one layer's attention maps at hand.

The batch is twice as long: first all sentences, then all copies. Attention is transformers' own SDPA in all layers but
the one that is asked for: there it is computed in the open, since SDPA keeps no maps (asked for them, it gives an empty
tuple and a warning). What is computed in the open equals eager attention.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from seedwise.errors import RequestError
from seedwise.trainables.ear.embeddings import Embeddings, Move
from seedwise.trainables.training import device
from seedwise.trainables.training.learner import Batch

NAME = "seedwise_twin"
PROBE = 4  # tokens of the input that shows which modules attend, in which order


@dataclass
class Tap:
    """What the attention modules of one model share: which of them is read, and how dropout is drawn."""

    module: nn.Module | None
    shared: bool
    weights: Tensor | None = None  # of the last pass
    reading: bool = False  # during the pass, but not where a checkpoint repeats a part of it for its gradients


@dataclass(frozen=True)
class Seen:
    """A pass over 2 B sequences of L tokens: logits, embedding output (2 B, L, d), maps (2 B, H, L, L), states."""

    logits: Tensor
    embeddings: Tensor
    attention: Tensor | None
    states: Tensor | None

    def halves(self, name: str) -> tuple[Tensor, Tensor]:
        """One of the tensors, of the sentences and of the copies."""
        return getattr(self, name).chunk(2)


class Twin:
    """Prepares a classifier for passes over both streams. In evaluation mode it is the classifier that it was.

    `maps` is the layer (from 1) whose attention maps are wanted, `states` the one whose output is; None for none. With
    `shared_dropout` a sentence and its copy are dropped by the same masks, and the maps are those before dropout; else
    maps are those after it, as eager attention returns them.
    """

    def __init__(self, model: PreTrainedModel, *, maps: int | None, states: int | None, shared_dropout: bool):
        self.model, self.states, self.embeddings = model, states, Embeddings(model)
        modules = attention_modules(model)
        self.layers = len(modules)
        self.tap = Tap(modules[maps - 1] if maps else None, shared_dropout)
        for module in modules:
            module.tap = self.tap
        if shared_dropout:
            share_dropout(model)

    def __call__(self, batch: Batch, move: Move | None = None) -> Seen:
        """One pass over both streams. `move` changes the embedding output (default: nothing does)."""
        self.tap.reading, self.tap.weights = True, None
        try:
            with self.embeddings.reading(move):
                found = self.model(**batch, output_hidden_states=self.states is not None)
        finally:
            self.tap.reading = False
        weights, self.tap.weights = self.tap.weights, None
        embeddings, self.embeddings.output = self.embeddings.output, None  # nothing of a pass outlives its step
        if self.tap.module is not None and weights is None:
            raise RuntimeError("the attention maps of the layer were not computed")
        states = found.hidden_states[self.states] if self.states else None
        return Seen(found.logits, embeddings, weights, states)


def attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    **rest: Any,
) -> tuple[Tensor, None]:
    """SDPA, but in the layer that is read, and with one dropout mask for both streams where that is wanted."""
    tap: Tap | None = getattr(module, "tap", None)
    if _recorded is not None:
        _recorded.append(module)
    shared = tap is not None and tap.shared and module.training and dropout > 0
    if tap is not None and tap.module is module and (tap.reading or module.training):
        return _in_the_open(tap, query, key, value, attention_mask, dropout, scaling, shared=shared), None
    options = {"dropout": dropout, "scaling": scaling, **rest}
    if not shared:
        return sdpa_attention_forward(module, query, key, value, attention_mask, **options)
    masks = (None, None) if attention_mask is None else attention_mask.chunk(2)
    state, found = device.random_state(query.device), []
    for part in zip(query.chunk(2), key.chunk(2), value.chunk(2), masks, strict=True):
        device.set_random_state(query.device, state)  # the same masks of dropout for both
        found.append(sdpa_attention_forward(module, *part, **options)[0])
    return torch.cat(found), None


def _in_the_open(
    tap: Tap,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    dropout: float,
    scaling: float | None,
    *,
    shared: bool,
) -> Tensor:
    """softmax(Q K^T) V with the weights kept."""
    groups = query.shape[1] // key.shape[1]  # encoders with fewer heads of keys than of queries
    key, value = (part.repeat_interleave(groups, 1) if groups > 1 else part for part in (key, value))
    scores = query @ key.transpose(2, 3) * (query.shape[-1] ** -0.5 if scaling is None else scaling)
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min) if mask.dtype == torch.bool else scores + mask
    weights = scores.softmax(-1)
    dropped = drop_alike(weights, dropout) if shared else nn.functional.dropout(weights, dropout, dropout > 0)
    if tap.reading:
        tap.weights = weights if tap.shared else dropped
    return (dropped @ value).transpose(1, 2).contiguous()


def drop_alike(states: Tensor, share: float) -> Tensor:
    """Dropout with the same mask for both halves of the first dimension."""
    mask = nn.functional.dropout(states.new_ones((len(states) // 2, *states.shape[1:])), share)
    return (states.unflatten(0, (2, -1)) * mask).flatten(0, 1)


class SharedDropout(nn.Dropout):
    """Dropout of a doubled batch: a sentence and its copy lose the same units."""

    def forward(self, states: Tensor) -> Tensor:
        return drop_alike(states, self.p) if self.training and self.p else states


def share_dropout(model: nn.Module) -> None:
    """Replace every dropout of a model. One that it calls as a function would escape: `check_layers` finds that."""
    for module in model.modules():
        for name, child in module.named_children():
            if type(child) is nn.Dropout:
                setattr(module, name, SharedDropout(child.p).train(child.training))


_recorded: list[nn.Module] | None = None  # the modules that attend, in their order, while they are being found


@contextmanager
def _recording() -> Iterator[list[nn.Module]]:
    global _recorded
    _recorded = found = []
    try:
        yield found
    finally:
        _recorded = None


def attention_modules(model: PreTrainedModel) -> list[nn.Module]:
    """The modules of a model that attend, in the order of its layers, found by one pass over a few tokens."""
    model.set_attn_implementation(NAME)
    training = model.training
    ids = torch.full((1, PROBE), model.config.vocab_size - 1, device=model.device)
    with _recording() as found, torch.inference_mode():
        model.eval()
        model(input_ids=ids, attention_mask=torch.ones_like(ids))
        model.train(training)
    if not found:
        raise RequestError(
            "model",
            f"{model.config.model_type}: its attention does not go through transformers' attention interface, "
            "so no layer can be read",
            "Choose BERT, XLM-R or another encoder that does.",
        )
    if len({*found}) < len(found):
        raise RequestError(
            "model",
            f"{model.config.model_type}: its layers share one attention module, so no single one can be read",
            "Choose BERT, XLM-R or another encoder whose layers are their own.",
        )
    return found


AttentionInterface.register(NAME, attend)
AttentionMaskInterface.register(NAME, sdpa_mask)
