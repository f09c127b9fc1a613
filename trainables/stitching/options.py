"""The options of stitching. What the paper leaves open is decided here, once, and recorded in every run."""

from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from seedwise.trainables.spec import Count
from seedwise.trainables.training.options import STRICT, Positive, Share, TrainingOptions

WEIGHTINGS = ("standard", "softmax", "sparsemax", "entmax")


@dataclass(frozen=True, config=STRICT)
class StitchingOptions(TrainingOptions):
    """How the tables F^s and F^t are made; the rest is how the source is fine-tuned."""

    k: Count | Literal["all"] = 50  # nearest anchors behind each word
    weighting: Literal["standard", "softmax", "sparsemax", "entmax"] = "standard"
    tau: Positive = 1.0  # temperature; the paper names none. Inert for standard, where it cancels
    exponent: Annotated[float, Field(gt=1, le=4)] = 1.5  # of entmax: 1 is softmax, 2 is sparsemax
    negatives: Literal["clamp", "keep"] = "clamp"  # cosines below 0 in standard: as 0, or as the printed formula has it
    # How many pairs, or which share of them, drawn by the anchor stream.
    anchors: Count | Annotated[float, Field(gt=0, lt=1)] | Literal["all"] = "all"
    translations: Literal["one", "all"] = "one"  # anchors per target word: its first translation, or all of them
    pieces: Literal["single", "mean"] = "single"  # source words of one piece only, or the mean of their pieces
    phrases: Literal["skip", "mean"] = "skip"  # target entries of several words: no anchors, or the mean of their words
    anchor_casing: Literal["exact", "any"] = "any"  # lexica are lower-cased: take "Monday" where "monday" is missing
    quality: Share = 0.0  # share of the pairs, those of lowest quality, that are left out; needs a lexicon that says
    stop_words: Literal["keep", "drop"] = "keep"  # anchors whose target word is on the language's list
    merge_anchors: bool = False  # one anchor per source word (mean of its target vectors) instead of repeated rows
    centre: bool = False  # subtract each table's mean before the cosines
    renorm: bool = False  # scale each stitched row to the mean norm of the source table: means are short vectors
    specials: Literal["tuned", "pretrained", "reconstruct"] = "tuned"  # special-token rows of the target table


# What the paper says, or, where it is silent, what its printed formulas do if nothing is added to them.
PAPER = {
    "negatives": "keep",
    "translations": "one",
    "pieces": "single",
    "phrases": "skip",
    "anchor_casing": "exact",
    "quality": 0.0,  # the threshold of its low-resource lexica is not given: inputs.quality
    "stop_words": "keep",
    "merge_anchors": False,
    "centre": False,
    "renorm": False,
    "specials": "tuned",
    "freeze_embeddings": False,
}
