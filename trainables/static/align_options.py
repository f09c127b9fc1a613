"""The options of alignment. No torch here: specifications read this."""

from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from seedwise.trainables.spec import Count
from seedwise.trainables.training.options import STRICT, Positive


@dataclass(frozen=True, config=STRICT)
class AlignOptions:
    """How languages are mapped into the space of a fixed one. Defaults are those of VecMap."""

    preset: Literal["orthogonal", "supervised", "aaai2018"] = "supervised"  # see mapping.PRESETS
    # Directions that a map keeps, those in which the dictionary agrees best; 0 keeps all.
    dimensions: Annotated[int, Field(ge=0)] = 0
    selection: bool = True  # leave a language as it is where alignment hurts; holds out a tenth of its dictionary
    self_learning: bool = False  # refine a given dictionary by induction, too: for small ones. Without one: always
    cutoff: Count = 20_000  # most frequent words in induction and selection; time grows with its square
    start_cutoff: Count = 4_000  # most frequent words in the unsupervised start
    neighbours: Count = 10  # k of CSLS
    # Probability of a similarity to be kept at first: low ones get out of poor solutions.
    keep: Annotated[float, Field(gt=0, le=1)] = 0.1
    # By which it grows whenever the objective has stalled: with 1 or less, induction would never end.
    keep_factor: Annotated[float, Field(gt=1)] = 2.0
    patience: Count = 50  # iterations without improvement that are a stall
    threshold: Positive = 1e-6  # smallest improvement of the objective, a mean cosine
