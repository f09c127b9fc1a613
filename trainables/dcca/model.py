"""A masked language model as plain arrays for the workers, and the models that workers build from it."""

from dataclasses import dataclass

import numpy as np
from transformers import AutoModelForMaskedLM, PreTrainedModel

from seedwise.errors import RequestError
from seedwise.trainables.dcca.masking import head_of
from seedwise.trainables.training.encoder import Encoder, config_of, load_encoder, set_weights


@dataclass(frozen=True)
class MaskedModel:
    """An encoder with its head for masked words. Weights have the names of the whole model.

    `drawn` names weights of the head that the checkpoint lacks: `masked_model` draws these at random. `rest` holds
    weights, under the encoder's names, that a classifier uses and a masked language model does not, such as a pooler's.
    """

    model: Encoder
    rest: dict[str, np.ndarray]
    drawn: tuple[str, ...]


def load_masked(name: str, key: str = "model") -> MaskedModel:
    """The masked language model of a hub id, a folder in the hub's format, or `world:NAME`."""
    whole, _ = load_encoder(name, key, AutoModelForMaskedLM)
    alone, _ = load_encoder(name, key)
    model = AutoModelForMaskedLM.from_config(config_of(whole))
    try:
        head_of(model)
    except ValueError as error:
        raise RequestError(key, f"{name}: {error}", "Name an encoder of the BERT or RoBERTa family.") from error
    # A table that input and output share has two names; the kind of encoder decides which name comes first.
    first_names, prefix = dict(model.named_parameters()), model.base_model_prefix
    all_names = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    weights = {name: value for name, value in whole.weights.items() if name in first_names}
    rest = {name: value for name, value in alone.weights.items() if f"{prefix}.{name}" not in all_names}
    return MaskedModel(Encoder(whole.config, weights), rest, tuple(sorted(first_names.keys() - weights.keys())))


def masked_model(encoder: Encoder, seed: int) -> PreTrainedModel:
    """The model with the checkpoint's weights; weights that the checkpoint lacks are drawn from `seed`."""
    model = AutoModelForMaskedLM.from_config(config_of(encoder))
    set_weights(model, encoder.weights, seed)
    return model


def encoder_of(model: PreTrainedModel, rest: dict[str, np.ndarray]) -> Encoder:
    """The encoder of a model without its head, as `load_encoder` returns it; for `rest` see `MaskedModel`."""
    weights = {name: value.detach().cpu().numpy().copy() for name, value in model.base_model.named_parameters()}
    return Encoder(model.config.to_dict(), weights | rest)
