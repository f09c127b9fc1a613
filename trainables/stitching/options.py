"""The options of stitching. What the paper leaves open is decided here, once, and recorded in every run."""

from dataclasses import dataclass
from typing import Literal

from seedwise.trainables.training.options import TrainingOptions

WEIGHTINGS = ("standard", "softmax", "sparsemax", "entmax")


@dataclass(frozen=True)
class StitchingOptions(TrainingOptions):
    """How the tables F^s and F^t are made; the rest is how the source is fine-tuned."""

    k: int | Literal["all"] = 50  # nearest anchors behind each word
    weighting: Literal["standard", "softmax", "sparsemax", "entmax"] = "standard"
    tau: float = 1.0  # temperature; the paper names none. Inert for standard, where it cancels
    exponent: float = 1.5  # of entmax: 1 is softmax, 2 is sparsemax
    negatives: Literal["clamp", "keep"] = "clamp"  # cosines below 0 in standard: as 0, or as the printed formula has it
    anchors: int | float | Literal["all"] = "all"  # how many pairs, or which share of them, drawn by the anchor stream
    translations: Literal["one", "all"] = "one"  # anchors per target word: its first translation, or all of them
    pieces: Literal["single", "mean"] = "single"  # source words of one piece only, or the mean of their pieces
    phrases: Literal["skip", "mean"] = "skip"  # target entries of several words: no anchors, or the mean of their words
    anchor_casing: Literal["exact", "any"] = "any"  # lexica are lower-cased: take "Monday" where "monday" is missing
    quality: float = 0.0  # share of the pairs, those of lowest quality, that are left out; needs a lexicon that says
    stop_words: Literal["keep", "drop"] = "keep"  # anchors whose target word is on the language's list
    merge_anchors: bool = False  # one anchor per source word (mean of its target vectors) instead of repeated rows
    centre: bool = False  # subtract each table's mean before the cosines
    renorm: bool = False  # scale each stitched row to the mean norm of the source table: means are short vectors
    specials: Literal["tuned", "pretrained", "reconstruct"] = "tuned"  # special-token rows of the target table

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k != "all" and self.k < 1:
            raise ValueError(f"k: {self.k!r} must be at least 1, or all")
        if self.tau <= 0:
            raise ValueError(f"tau: {self.tau!r} must be above 0")
        if not 1 < self.exponent <= 4:
            raise ValueError(f"exponent: {self.exponent!r} must be above 1 (that would be softmax), at most 4")
        if self.anchors != "all" and (self.anchors <= 0 or (isinstance(self.anchors, float) and self.anchors >= 1)):
            raise ValueError(f"anchors: {self.anchors!r} is not a number of pairs, a share below 1, or all")
        if not 0 <= self.quality < 1:
            raise ValueError(f"quality: {self.quality!r} is a share of the pairs, from 0 up to but below 1")


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
