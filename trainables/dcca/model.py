"""A masked language model as plain arrays that travel to the workers, and what is built from it there."""

from dataclasses import dataclass

import numpy as np
from transformers import AutoModelForMaskedLM, PreTrainedModel

from seedwise.errors import RequestError
from seedwise.trainables.dcca.masking import head_of
from seedwise.trainables.training.encoder import Encoder, config_of, load_encoder, set_weights


@dataclass(frozen=True)
class Loaded:
    """An encoder with its head for masked words, by the names that the whole model gives to weights.

    Weights of a head that the checkpoint lacks are not among them but in `drawn`, by name: `masked_model` draws them.
    `rest` are weights of the encoder, by its own names, that a masked language model has no use for and a classifier
    has: a pooler's.
    """

    model: Encoder
    rest: dict[str, np.ndarray]
    drawn: tuple[str, ...]


def load_masked(name: str, key: str = "model") -> Loaded:
    """The masked language model of a hub id, a folder in the hub's format, or `world:NAME`."""
    encoder, _ = load_encoder(name, key, AutoModelForMaskedLM)
    alone, _ = load_encoder(name, key)
    model = AutoModelForMaskedLM.from_config(config_of(encoder))
    try:
        head_of(model)
    except ValueError as error:
        raise RequestError(key, f"{name}: {error}", "Name an encoder of BERT's or RoBERTa's kind.") from error
    # A table that both ends share has two names, and which of them comes first differs between kinds of encoders.
    once, prefix = dict(model.named_parameters()), model.base_model_prefix
    names = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    weights = {name: one for name, one in encoder.weights.items() if name in once}
    rest = {name: one for name, one in alone.weights.items() if f"{prefix}.{name}" not in names}
    return Loaded(Encoder(encoder.config, weights), rest, tuple(sorted(once.keys() - weights.keys())))


def masked_model(encoder: Encoder, seed: int) -> PreTrainedModel:
    """The model with the checkpoint's weights; those that it lacks are drawn from `seed`."""
    model = AutoModelForMaskedLM.from_config(config_of(encoder))
    set_weights(model, encoder.weights, seed)
    return model


def encoder_of(model: PreTrainedModel, rest: dict[str, np.ndarray]) -> Encoder:
    """The encoder of a model without its head, as another method would load it; for `rest` see `Loaded`."""
    weights = {name: one.detach().cpu().numpy().copy() for name, one in model.base_model.named_parameters()}
    return Encoder(model.config.to_dict(), weights | rest)
