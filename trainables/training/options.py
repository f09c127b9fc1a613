"""The training options that methods share. No torch here: spaces and specifications import this module."""

from dataclasses import fields
from typing import Annotated, Literal

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from seedwise.trainables.spec import Count

STRICT = ConfigDict(strict=True, extra="forbid")  # no conversion of strings or booleans to numbers; no unknown names
Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Share = Annotated[float, Field(ge=0, lt=1)]


@dataclass(frozen=True, config=STRICT)
class OptimiserOptions:
    """How weights are updated, whatever the loss."""

    lr: Positive = 2e-5  # peak learning rate of AdamW (eps 1e-8)
    schedule: Literal["linear", "cosine", "constant"] = "linear"  # decay to zero over all updates, or none
    warmup: Share = 0.0  # share of the updates over which the rate rises linearly from zero
    weight_decay: NotNegative = 0.0  # applied to matrices only, not to biases and layer norms
    clip: NotNegative = 1.0  # largest gradient norm; 0 switches clipping off
    precision: Literal["fp32", "bf16", "fp16"] = "fp32"  # autocast; weights stay in fp32, and fp16 scales the loss
    # Recompute activations: all (true: a third slower, least memory) or all but matrix products (selective: about as
    # fast as without, half the memory).
    gradient_checkpointing: bool | Literal["selective"] = False
    freeze_embeddings: bool = False  # do not train the word table
    freeze_layers: Annotated[int, Field(ge=0)] = 0  # do not train the lowest n encoder layers


@dataclass(frozen=True, config=STRICT)
class TrainingOptions(OptimiserOptions):
    """How a classifier is fine-tuned. Every method that trains a classifier extends these options."""

    epochs: Count = 15  # passes over the source training data
    batch_size: Count = 32  # examples per forward pass
    accumulation: Count = 1  # forward passes per update: the effective batch is batch_size x accumulation


def names_of(options: type) -> tuple[str, ...]:
    """The names of a class's fields."""
    return tuple(field.name for field in fields(options))


TRAINING = names_of(TrainingOptions)
