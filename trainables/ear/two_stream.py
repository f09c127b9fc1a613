"""A classifier that reads sentences and their copies in one forward pass, and one layer's attention maps.

The batch is twice as long: first all sentences, then all copies. Attention is transformers' own SDPA in all layers but
the one that is read: there it is computed explicitly and equals eager attention, since SDPA returns no maps.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import repeat_kv, sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from seedwise.errors import RequestError
from seedwise.trainables.ear.embeddings import Embeddings, Perturbation
from seedwise.trainables.training import device
from seedwise.trainables.training.learner import Batch

NAME = "seedwise_two_stream"
TRACE_TOKENS = 4  # tokens of the input that shows which modules attend, and in which order


@dataclass(frozen=True)
class TwoStreamOutput:
    """Outputs for 2 B sequences of L tokens: logits, embedding output (2 B, L, d), maps (2 B, H, L, L) and states."""

    logits: Tensor
    embeddings: Tensor
    attention: Tensor | None
    states: Tensor | None

    def halves(self, name: str) -> tuple[Tensor, Tensor]:
        """One of the tensors, for the sentences and for the copies."""
        return getattr(self, name).chunk(2)


class TwoStream:
    """Prepares a classifier for forward passes over both streams. Evaluation is not affected.

    `maps` is the layer (from 1) whose attention maps are read, `states` the layer whose output is read; None reads no
    layer. With `shared_dropout` a sentence and its copy have the same dropout masks, and maps are taken before dropout;
    otherwise maps are taken after dropout, as eager attention returns them.
    """

    def __init__(self, model: PreTrainedModel, *, maps: int | None, states: int | None, shared_dropout: bool):
        self.model, self.states, self.embeddings = model, states, Embeddings(model)
        self.shared_dropout = shared_dropout
        self.maps: Tensor | None = None  # of the current forward pass
        self.reading = False  # true during a forward pass, but not while a checkpoint recomputes a part of the pass
        self.attended: list[nn.Module] | None = None  # a list only while `attention_modules` runs
        for module in model.modules():
            module.two_stream = self
        modules = self.attention_modules()
        self.layers = len(modules)
        self.read_module = modules[maps - 1] if maps else None
        if shared_dropout:
            share_dropout(model)

    def __call__(self, batch: Batch, perturbation: Perturbation | None = None) -> TwoStreamOutput:
        """Do a forward pass over both streams. `perturbation` changes the embedding output (default: no change)."""
        self.reading, self.maps = True, None
        try:
            with self.embeddings.reading(perturbation):
                output = self.model(**batch, output_hidden_states=self.states is not None)
        finally:
            self.reading = False
        maps, self.maps = self.maps, None
        embeddings, self.embeddings.output = self.embeddings.output, None  # nothing of a pass outlives its step
        if self.read_module is not None and maps is None:
            raise RuntimeError("the attention maps of the layer were not computed")
        states = output.hidden_states[self.states] if self.states else None
        return TwoStreamOutput(output.logits, embeddings, maps, states)

    def attention_modules(self) -> list[nn.Module]:
        """The modules that attend, in the order of their layers, found by a forward pass over a few tokens."""
        model, self.read_module, self.attended = self.model, None, []
        model.set_attn_implementation(NAME)
        training = model.training
        ids = torch.full((1, TRACE_TOKENS), model.config.vocab_size - 1, device=model.device)
        with torch.inference_mode():
            model.eval()
            model(input_ids=ids, attention_mask=torch.ones_like(ids))
            model.train(training)
        modules, self.attended = self.attended, None
        if not modules:
            problem = "its attention does not go through transformers' attention interface, so no layer can be read"
            choice = "another encoder that uses that interface"
        elif len({*modules}) < len(modules):
            problem = "its layers share one attention module, so no single layer can be read"
            choice = "another encoder whose layers have separate attention modules"
        else:
            return modules
        raise RequestError("model", f"{model.config.model_type}: {problem}", f"Choose BERT, XLM-R or {choice}.")


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
    """SDPA, except in the layer that is read, and with one dropout mask for both streams if it is shared."""
    stream: TwoStream = module.two_stream
    if stream.attended is not None:
        stream.attended.append(module)
    shared = stream.shared_dropout and module.training and dropout > 0
    if stream.read_module is module and (stream.reading or module.training):
        weights, dropped = _weights(query, key, attention_mask, dropout, scaling, shared=shared)
        if stream.reading:
            stream.maps = weights if stream.shared_dropout else dropped
        return (dropped @ repeat_kv(value, query.shape[1] // value.shape[1])).transpose(1, 2).contiguous(), None
    options = {"dropout": dropout, "scaling": scaling, **rest}
    if not shared:
        return sdpa_attention_forward(module, query, key, value, attention_mask, **options)
    masks = (None, None) if attention_mask is None else attention_mask.chunk(2)
    state, outputs = device.random_state(query.device), []
    for part in zip(query.chunk(2), key.chunk(2), value.chunk(2), masks, strict=True):
        device.set_random_state(query.device, state)  # the same dropout masks for both streams
        outputs.append(sdpa_attention_forward(module, *part, **options)[0])
    return torch.cat(outputs), None


def _weights(
    query: Tensor, key: Tensor, mask: Tensor | None, dropout: float, scaling: float | None, *, shared: bool
) -> tuple[Tensor, Tensor]:
    """softmax(Q K^T), before and after dropout."""
    key = repeat_kv(key, query.shape[1] // key.shape[1])  # some encoders have fewer heads of keys than of queries
    scores = query @ key.transpose(2, 3) * (query.shape[-1] ** -0.5 if scaling is None else scaling)
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min) if mask.dtype == torch.bool else scores + mask
    weights = scores.softmax(-1)
    return weights, drop_alike(weights, dropout) if shared else nn.functional.dropout(weights, dropout, dropout > 0)


def drop_alike(states: Tensor, share: float) -> Tensor:
    """Dropout with the same mask for both halves of the first dimension."""
    mask = nn.functional.dropout(states.new_ones((len(states) // 2, *states.shape[1:])), share)
    return (states.unflatten(0, (2, -1)) * mask).flatten(0, 1)


class SharedDropout(nn.Dropout):
    """Dropout of a doubled batch: a sentence and its copy lose the same units."""

    def forward(self, states: Tensor) -> Tensor:
        return drop_alike(states, self.p) if self.training and self.p else states


def share_dropout(model: nn.Module) -> None:
    """Replace every dropout module of a model. `check_layers` finds models that call dropout as a function."""
    for module in model.modules():
        for name, child in module.named_children():
            if type(child) is nn.Dropout:
                setattr(module, name, SharedDropout(child.p).train(child.training))


AttentionInterface.register(NAME, attend)
AttentionMaskInterface.register(NAME, sdpa_mask)
