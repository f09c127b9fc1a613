"""The options of stitching and its baselines, including choices that the paper leaves open. No torch here."""

from typing import Annotated, ClassVar, Literal, get_args

from pydantic import Field
from pydantic.dataclasses import dataclass

from seedwise.trainables.spec import Count
from seedwise.trainables.training.options import STRICT, Positive, Share, TrainingOptions

WeightingName = Literal["standard", "softmax", "sparsemax", "entmax"]
Map = Literal["plain", "ridge", "orthogonal"]
WEIGHTINGS, MAPS = get_args(WeightingName), get_args(Map)


@dataclass(frozen=True, config=STRICT)
class StitchingOptions(TrainingOptions):
    """How the tables F^s and F^t are made, and how the source model is fine-tuned."""

    k: Count | Literal["all"] = 50  # nearest anchors that make up each word
    weighting: WeightingName = "standard"
    tau: Positive = 1.0  # temperature; the paper names no value. No effect with standard, where it cancels
    exponent: Annotated[float, Field(gt=1, le=4)] = 1.5  # of entmax: 1 is softmax, 2 is sparsemax, beyond is sparser
    negatives: Literal["clamp", "keep"] = "clamp"  # negative cosines in standard: set to 0, or kept as in the paper
    # The number or share of pairs that are drawn by the anchor stream.
    anchors: Count | Annotated[float, Field(gt=0, lt=1)] | Literal["all"] = "all"
    translations: Literal["one", "all"] = "one"  # anchors per target word: its best or first translation, or all
    pieces: Literal["single", "mean"] = "single"  # source words of one piece only, or means of several pieces, too
    phrases: Literal["skip", "mean"] = "skip"  # target entries of several words: left out, or the mean of their words
    anchor_casing: Literal["exact", "any"] = "any"  # lexica are lower-cased: take "Monday" if "monday" is missing
    quality: Share = 0.0  # share of the pairs to leave out, lowest quality first; needs a lexicon with qualities
    stop_words: Literal["keep", "drop"] = "keep"  # anchors whose target word is on the language's stop-word list
    merge_anchors: bool = False  # one anchor per source word (mean of its target vectors) instead of repeated rows
    centre: bool = False  # subtract each table's mean before the cosines
    renorm: bool = False  # scale each stitched row to the mean norm of the source table: means are short vectors
    specials: Literal["tuned", "pretrained", "reconstruct"] = "tuned"  # special-token rows of the target table


# The paper's choices or, if the paper is silent, its printed formulas without additions.
PAPER = {
    "negatives": "keep",
    "translations": "one",
    "pieces": "single",
    "phrases": "skip",
    "anchor_casing": "exact",
    "quality": 0.0,  # the paper does not give the threshold of its low-resource lexica: see inputs.quality
    "stop_words": "keep",
    "merge_anchors": False,
    "centre": False,
    "renorm": False,
    "specials": "tuned",
    "freeze_embeddings": False,
}
# The options that select anchors, which LS reads as well.
ANCHORS = ("anchors", "translations", "pieces", "phrases", "anchor_casing", "quality", "stop_words")


def streams_used(params: dict) -> tuple[str, ...]:
    """The random streams of a run that fine-tunes; anchors are drawn only if not all of them are used."""
    return ("head", "order", "dropout", *(["anchors"] if params.get("anchors", "all") != "all" else []))


@dataclass(frozen=True, config=STRICT)
class LeastSquaresOptions(StitchingOptions):
    """A linear map of the target's vectors. Anchors are chosen as in stitching, whose other options have no effect."""

    title: ClassVar[str] = "LS"
    map: Map = "plain"  # plain is the paper's
    # Of ridge, in units of the anchors' mean squared column norm; 0 would be plain. No source score can choose the
    # strength: all maps share one source model. On held-out anchors of French, Swahili and Turkish, 0.3 to 1 is best.
    strength: Positive = 1.0


@dataclass(frozen=True, config=STRICT)
class ZeroShotOptions(TrainingOptions):
    """A multilingual encoder (the paper's mBERT), fine-tuned on the source and applied to the targets as it is."""

    title: ClassVar[str] = "zero-shot"


@dataclass(frozen=True, config=STRICT)
class RegressionOptions:
    """Logistic regression on the mean of a sentence's word vectors, trained on labels of the target language."""

    title: ClassVar[str] = "LR (target labels)"
    c: Positive = 1.0  # inverse strength of the L2 penalty, as in scikit-learn: larger fits closer
    normalise: bool = False  # scale word vectors to unit length before the mean, so that long vectors do not dominate


@dataclass(frozen=True, config=STRICT)
class ConstantOptions:
    """Always predict the most frequent class of the source's training set: the score of knowing nothing."""

    title: ClassVar[str] = "constant"
