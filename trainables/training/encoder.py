"""A pretrained encoder as plain arrays that travel to the workers, and the classifier that is built from it there."""

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
    PreTrainedModel,
    logging,
)

from seedwise.errors import RequestError
from seedwise.paths import resolved
from seedwise.trainables.inputs.paths import locate


@dataclass(frozen=True)
class Encoder:
    """Configuration and float32 weights; weights that the checkpoint lacks (a pooler, say) are not in it."""

    config: dict[str, Any]
    weights: dict[str, np.ndarray]


def load_encoder(name: str, key: str = "model") -> tuple[Encoder, Any]:
    """The encoder and the tokenizer of a hub id, a folder in the hub's format, or `world:NAME`. No remote code."""
    return loaded(name, key, AutoModel)


def loaded(name: str, key: str, kind: Any) -> tuple[Encoder, Any]:
    """The same with the head of a `kind` of model, such as AutoModelForMaskedLM."""
    is_folder = name.startswith(("world:", "~")) or resolved(name).is_dir()
    path = str(locate(name, key, folder=True)) if is_folder else name
    own = {"trust_remote_code": False}  # not left open: a person at a terminal would be asked, and could say yes
    try:
        with quiet():
            tokenizer = AutoTokenizer.from_pretrained(path, **own)
            config = AutoConfig.from_pretrained(path, **own)
            config._attn_implementation = None  # which may name code of the hub
            loading = {"config": config, "dtype": torch.float32, "output_loading_info": True, "weights_only": True}
            model, info = kind.from_pretrained(path, **loading, **own)
    except Exception as error:  # transformers, tokenizers, safetensors and torch have no error in common
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        if "weights_only" in reason:  # torch goes on to say how to read it nevertheless
            reason = "its weights are a pickle of more than tensors, which may be code and is not read."
        raise RequestError(
            key, f"{name}: {reason}", "Write a hub id, or the path of a folder in its format."
        ) from error
    missing, settings = set(info["missing_keys"]), model.config.to_dict()
    settings.pop("auto_map", None)  # names code, which nobody who gets the model should be asked for either
    weights = {key: value.numpy() for key, value in model.state_dict().items() if key not in missing}
    return Encoder(settings, weights), tokenizer


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """In this block transformers reports no missing or left over heads, which are expected, and no progress."""
    before, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(before)
        if bars:
            logging.enable_progress_bar()


def check_encoder(key: str, name: str, encoder: Encoder, tokenizer: Any, longest: int) -> None:
    """Refuse an encoder without the tokens that a sentence needs, or with room for fewer tokens than it would get."""
    for role in ("cls", "sep", "pad", "unk"):
        if getattr(tokenizer, f"{role}_token_id") is None:
            raise RequestError(key, f"{name}: its tokenizer has no {role} token", "Name a BERT-like encoder.")
    room = encoder.config.get("max_position_embeddings")
    if room and "roberta" in encoder.config["model_type"]:
        room -= tokenizer.pad_token_id + 1  # its first positions are never used
    if room and longest > room:
        raise RequestError(
            "inputs.max_length", f"{longest}, but {name} reads at most {room} tokens", f"Write {room} or less."
        )


def skeleton(encoder: Encoder, labels: int) -> PreTrainedModel:
    """A classifier of the encoder's kind, its weights not yet set: `initialise` does that."""
    config = dict(encoder.config)
    kind = config.pop("model_type")
    config.pop("dtype", None)
    config = AutoConfig.for_model(kind, **config)
    config.num_labels = labels
    return AutoModelForSequenceClassification.from_config(config)


def initialise(model: PreTrainedModel, encoder: Encoder, seed: int) -> None:
    """Set every weight: the encoder's from the checkpoint, all others (the head) drawn from `seed`.

    Matrices are normal with the encoder's own initial spread, vectors are zero (biases) or one (norms).
    """
    prefix = model.base_model_prefix + "."
    own = {prefix + name: weights for name, weights in encoder.weights.items()}
    set_weights(model, own, seed)


def set_weights(model: PreTrainedModel, known: dict[str, np.ndarray], seed: int) -> None:
    """Set every weight: to what is known by its name, all others drawn from `seed` as `initialise` says."""
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
