"""The options of training that methods share, in one place. No torch here: spaces and specifications read this."""

from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

SCHEDULES = ("linear", "cosine", "constant")
PRECISIONS = ("fp32", "bf16", "fp16")


@dataclass(frozen=True)
class OptimiserOptions:
    """How weights are moved, whatever the loss."""

    lr: float = 2e-5  # peak learning rate of AdamW (eps 1e-8)
    schedule: Literal["linear", "cosine", "constant"] = "linear"  # decay to zero over all updates, or none
    warmup: float = 0.0  # share of the updates over which the rate rises linearly from zero
    weight_decay: float = 0.0  # on matrices only; biases and layer norms are left alone
    clip: float = 1.0  # largest gradient norm; 0 switches clipping off
    precision: Literal["fp32", "bf16", "fp16"] = "fp32"  # autocast; weights stay in fp32, fp16 scales its loss
    # Recompute activations: all (true: about a third slower, least memory), or all but matrix products (selective:
    # about as fast as none, half the memory).
    gradient_checkpointing: bool | Literal["selective"] = False
    freeze_embeddings: bool = False  # keep the word table as it is
    freeze_layers: int = 0  # keep the lowest n encoder layers as they are

    def __post_init__(self) -> None:
        hints = hints_of(type(self))
        for field in fields(self):
            check_type(field.name, getattr(self, field.name), hints[field.name])
        self.positive("lr")
        self.not_negative("clip", "weight_decay", "freeze_layers")
        if not 0 <= self.warmup < 1:
            raise ValueError(f"warmup: {self.warmup!r} is a share of the updates, from 0 up to but below 1")

    def positive(self, *names: str) -> None:
        for name in names:
            if getattr(self, name) <= 0:
                raise ValueError(f"{name}: {getattr(self, name)!r} must be above 0")

    def not_negative(self, *names: str) -> None:
        for name in names:
            if getattr(self, name) < 0:
                raise ValueError(f"{name}: {getattr(self, name)!r} must not be negative")


@dataclass(frozen=True)
class TrainingOptions(OptimiserOptions):
    """How a classifier is fine-tuned. The options of every method that trains one extend these."""

    epochs: int = 15  # passes over the source training data
    batch_size: int = 32  # examples per forward pass
    accumulation: int = 1  # forward passes per update: the effective batch is batch_size x accumulation

    def __post_init__(self) -> None:
        super().__post_init__()
        self.positive("epochs", "batch_size", "accumulation")


def names_of(options: type) -> tuple[str, ...]:
    """The names of a class's fields."""
    return tuple(one.name for one in fields(options))


TRAINING = names_of(TrainingOptions)


@cache
def hints_of(options: type) -> dict[str, Any]:
    """The types of a class's fields: spaces make options by the thousand, and looking these up is most of the work."""
    return get_type_hints(options)


def check_type(name: str, value: Any, hint: Any) -> None:
    """Raise, in words, where a value is not of its annotated type. A whole number is a number, a truth value is not."""
    if not _fits(value, hint):
        raise ValueError(f"{name}: {value!r} is not {_in_words(hint)}")


def _fits(value: Any, hint: Any) -> bool:
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if get_args(hint):  # a union
        return any(_fits(value, part) for part in get_args(hint))
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, hint)


def _in_words(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(map(str, get_args(hint)))
    if get_args(hint):
        return " or ".join(_in_words(part) for part in get_args(hint))
    return {float: "a number", int: "a whole number", bool: "true or false", str: "text", type(None): "null"}.get(
        hint, str(hint)
    )
