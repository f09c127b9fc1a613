"""The options of the baselines of stitching, and what a leaderboard says of each. No torch here: spaces read this."""

from typing import ClassVar, Literal

from pydantic.dataclasses import dataclass

from seedwise.trainables.stitching.options import StitchingOptions
from seedwise.trainables.training.options import STRICT, Positive, TrainingOptions


@dataclass(frozen=True, config=STRICT)
class LeastSquaresOptions(StitchingOptions):
    """A linear map of the target's vectors. The anchors are chosen as in stitching; its other own options are inert."""

    title: ClassVar[str] = "LS"
    map: Literal["plain", "ridge", "orthogonal"] = "plain"  # plain is the paper's
    # Of ridge, in units of the anchors' mean squared column norm; with 0 the map would be plain. No source score can
    # choose it: all maps share one source model. On held-out anchors of French, Swahili and Turkish 0.3 to 1 is best.
    strength: Positive = 1.0


@dataclass(frozen=True, config=STRICT)
class ZeroShotOptions(TrainingOptions):
    """A multilingual encoder, fine-tuned on the source and applied to the targets as it is."""

    title: ClassVar[str] = "zero-shot"


@dataclass(frozen=True, config=STRICT)
class RegressionOptions:
    """Logistic regression on the mean of a sentence's word vectors, trained on labels of the target language."""

    title: ClassVar[str] = "LR (target labels)"
    c: Positive = 1.0  # inverse strength of the L2 penalty, as in scikit-learn: larger fits closer
    normalise: bool = False  # word vectors at unit length before the mean, so that long ones do not rule it


@dataclass(frozen=True, config=STRICT)
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
