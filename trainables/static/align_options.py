"""The options of alignment. No torch here: specifications read this."""

from dataclasses import dataclass, fields
from typing import Literal

from seedwise.trainables.training.options import check_type, hints_of


@dataclass(frozen=True)
class AlignOptions:
    """How languages are mapped into the space of a fixed one. Defaults are those of VecMap."""

    preset: Literal["orthogonal", "supervised", "aaai2018"] = "supervised"  # see mapping.PRESETS
    dimensions: int = 0  # directions that a map keeps, those in which the dictionary agrees best; 0 keeps all
    selection: bool = True  # leave a language as it is where alignment hurts; holds out a tenth of its dictionary
    self_learning: bool = False  # refine a given dictionary by induction, too: for small ones. Without one: always
    cutoff: int = 20_000  # most frequent words in induction and selection; time grows with its square
    start_cutoff: int = 4_000  # most frequent words in the unsupervised start
    neighbours: int = 10  # k of CSLS
    keep: float = 0.1  # probability of a similarity to be kept at first: low ones get out of poor solutions
    keep_factor: float = 2.0  # by which it grows whenever the objective has stalled
    patience: int = 50  # iterations without improvement that are a stall
    threshold: float = 1e-6  # smallest improvement of the objective, a mean cosine

    def __post_init__(self) -> None:
        hints = hints_of(type(self))
        for field in fields(self):
            check_type(field.name, getattr(self, field.name), hints[field.name])
        for name in ("cutoff", "start_cutoff", "neighbours", "patience"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: {getattr(self, name)!r} must be at least 1")
        if self.dimensions < 0:
            raise ValueError(f"dimensions: {self.dimensions!r} must not be negative; 0 keeps all")
        if not 0 < self.keep <= 1:
            raise ValueError(f"keep: {self.keep!r} is a probability above 0")
        if self.keep_factor <= 1:
            raise ValueError(f"keep_factor: {self.keep_factor!r} must be above 1, or induction would never end")
        if self.threshold <= 0:
            raise ValueError(f"threshold: {self.threshold!r} must be above 0")
