"""The options of the toy method and of its baseline."""

from typing import ClassVar

from pydantic.dataclasses import dataclass

from seedwise.trainables.spec import Count
from seedwise.trainables.training.options import STRICT, Positive


@dataclass(frozen=True, config=STRICT)
class PlainOptions:
    """The most frequent class of the drawn sentences."""

    title: ClassVar[str] = "most frequent class"
    sentences: Count = 48  # of source training, drawn by the order stream


@dataclass(frozen=True, config=STRICT)
class ToyOptions(PlainOptions):
    """Naive Bayes over the encoder's pieces."""

    title: ClassVar[str] = "toy"
    smoothing: Positive = 1.0  # added to every count
