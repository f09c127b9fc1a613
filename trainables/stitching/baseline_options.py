"""The options of the baselines of stitching, and what a leaderboard says of each. No torch here: spaces read this."""

from dataclasses import dataclass, fields
from typing import ClassVar, Literal

from seedwise.trainables.stitching.options import StitchingOptions
from seedwise.trainables.training.options import TrainingOptions, check_type, hints_of


@dataclass(frozen=True)
class LeastSquaresOptions(StitchingOptions):
    """A linear map of the target's vectors. The anchors are chosen as in stitching; its other own options are inert."""

    title: ClassVar[str] = "LS"
    map: Literal["plain", "ridge", "orthogonal"] = "plain"  # plain is the paper's
    # Of ridge, in units of the anchors' mean squared column norm. No source score can choose it: all maps share one
    # source model. On held-out anchors of French, Swahili and Turkish 0.3 to 1 is best.
    strength: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.strength <= 0:
            raise ValueError(f"strength: {self.strength!r} must be above 0; without a penalty the map is plain")


@dataclass(frozen=True)
class ZeroShotOptions(TrainingOptions):
    """A multilingual encoder, fine-tuned on the source and applied to the targets as it is."""

    title: ClassVar[str] = "zero-shot"


@dataclass(frozen=True)
class RegressionOptions:
    """Logistic regression on the mean of a sentence's word vectors, trained on labels of the target language."""

    title: ClassVar[str] = "LR (target labels)"
    c: float = 1.0  # inverse strength of the L2 penalty, as in scikit-learn: larger fits closer
    normalise: bool = False  # word vectors at unit length before the mean, so that long ones do not rule it

    def __post_init__(self) -> None:
        hints = hints_of(type(self))
        for field in fields(self):
            check_type(field.name, getattr(self, field.name), hints[field.name])
        if self.c <= 0:
            raise ValueError(f"c: {self.c!r} must be above 0")


@dataclass(frozen=True)
class ConstantOptions:
    """The most frequent class of the source's training set, for everything."""

    title: ClassVar[str] = "constant"


OPTIONS = {
    "ls": LeastSquaresOptions,
    "lr": RegressionOptions,
    "zero_shot": ZeroShotOptions,
    "constant": ConstantOptions,
}
# Options of stitching that say which pairs are anchors, and so concern LS too.
ANCHORS = ("anchors", "translations", "pieces", "phrases", "anchor_casing", "quality", "stop_words")
