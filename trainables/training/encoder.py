"""A pretrained encoder as plain arrays for the workers, and the classifier that workers build from it."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    PreTrainedConfig,
    PreTrainedModel,
    logging,
)

from seedwise.errors import RequestError
from seedwise.paths import resolved
from seedwise.trainables.inputs.files import locate


@dataclass(frozen=True)
class Encoder:
    """An encoder's configuration and float32 weights, without weights that its checkpoint lacks, such as a pooler's."""

    config: dict[str, Any]
    weights: dict[str, np.ndarray]


def load_encoder(name: str, key: str = "model", kind: Any = AutoModel) -> tuple[Encoder, Any]:
    """The encoder and the tokenizer of a hub id, a folder in the hub's format, or `world:NAME`. Runs no remote code.

    `kind` is the class that loads the model: AutoModelForMaskedLM, for example, keeps the head for masked words.
    """
    is_folder = name.startswith(("world:", "~")) or resolved(name).is_dir()
    path = str(locate(name, key, folder=True)) if is_folder else name
    local_code = {"trust_remote_code": False}  # explicit: by default, a user at a terminal is asked and could agree
    try:
        with quiet():
            tokenizer = AutoTokenizer.from_pretrained(path, **local_code)
            config = AutoConfig.from_pretrained(path, **local_code)
            config._attn_implementation = None  # may name code of the hub
            loading = {"config": config, "dtype": torch.float32, "output_loading_info": True, "weights_only": True}
            model, info = kind.from_pretrained(path, **loading, **local_code)
    except Exception as error:  # transformers, tokenizers, safetensors and torch have no error in common
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        if "weights_only" in reason:  # torch's own message explains how to load the file anyway
            reason = "its weights are a pickle of more than tensors, which may run code and is not read."
        raise RequestError(
            key, f"{name}: {reason}", "Write a hub id, or the path of a folder in its format."
        ) from error
    missing, settings = set(info["missing_keys"]), model.config.to_dict()
    settings.pop("auto_map", None)  # names remote code, which users of an exported model should not be asked to trust
    weights = {key: value.numpy() for key, value in model.state_dict().items() if key not in missing}
    return Encoder(settings, weights), tokenizer


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Silence transformers' progress bars and its warnings of missing or unused heads, which are expected here."""
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


def check_encoder(key: str, name: str, encoder: Encoder, tokenizer: Any, max_length: int) -> None:
    """Refuse an encoder that lacks a special token or cannot read `max_length` tokens."""
    for role in ("cls", "sep", "pad", "unk"):
        if getattr(tokenizer, f"{role}_token_id") is None:
            raise RequestError(key, f"{name}: its tokenizer has no {role} token", "Name a BERT-like encoder.")
    longest = longest_input(encoder, tokenizer)
    if max_length > longest:
        raise RequestError(
            "inputs.max_length", f"{max_length}, but {name} reads at most {longest} tokens", f"Write {longest} or less."
        )


def longest_input(encoder: Encoder, tokenizer: Any) -> int:
    """The largest number of tokens that an encoder can read."""
    positions = encoder.config.get("max_position_embeddings") or tokenizer.model_max_length
    unused = tokenizer.pad_token_id + 1 if "roberta" in encoder.config["model_type"] else 0  # the first positions
    return positions - unused


def config_of(encoder: Encoder) -> PreTrainedConfig:
    """The configuration as a transformers object; `dtype` is left out because weights are float32."""
    settings = {name: value for name, value in encoder.config.items() if name != "dtype"}
    return AutoConfig.for_model(settings.pop("model_type"), **settings)


def skeleton(encoder: Encoder, labels: int) -> PreTrainedModel:
    """A classifier with this encoder's architecture. `initialise` sets its weights."""
    config = config_of(encoder)
    config.num_labels = labels
    return AutoModelForSequenceClassification.from_config(config)


def initialise(model: PreTrainedModel, encoder: Encoder, seed: int) -> None:
    """Set every weight: the encoder's weights from the checkpoint, all others (the head) drawn from `seed`."""
    prefix = model.base_model_prefix + "."
    set_weights(model, {prefix + name: weights for name, weights in encoder.weights.items()}, seed)


def set_weights(model: PreTrainedModel, known: dict[str, np.ndarray], seed: int) -> None:
    """Set every weight: from `known` by name, else drawn from `seed`.

    Drawn matrices are normal with the encoder's own initial spread; vectors are zero (biases) or one (norms).
    """
    draw = torch.Generator().manual_seed(seed)
    spread = getattr(model.config, "initializer_range", 0.02)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            weights = known.get(name)
            if weights is not None:
                parameter.copy_(torch.from_numpy(np.array(weights)))
            elif parameter.dim() > 1:
                parameter.copy_(torch.randn(parameter.shape, generator=draw) * spread)
            else:
                parameter.fill_(1.0 if "norm" in name.lower() and name.endswith("weight") else 0.0)
