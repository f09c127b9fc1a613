"""The options of stitching. What the paper leaves open is decided here, once, and recorded in every run."""

from dataclasses import dataclass
from typing import Literal

from trainables.options import TrainingOptions

WEIGHTINGS = ("standard", "softmax", "sparsemax", "entmax")


@dataclass(frozen=True)
class StitchingOptions(TrainingOptions):
    """How the tables F^s and F^t are made; the rest is how the source is fine-tuned."""

    k: int | Literal["all"] = 50  # nearest anchors behind each word
    weighting: Literal["standard", "softmax", "sparsemax", "entmax"] = "standard"
    tau: float = 1.0  # temperature; the paper names none. Inert for standard, where it cancels
    exponent: float = 1.5  # of entmax: 1 is softmax, 2 is sparsemax
    anchors: int | float | Literal["all"] = "all"  # how many pairs, or which share of them, drawn by the anchor stream
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
