"""The options of static vectors: extraction and alignment. No torch here: the command line imports this module."""

from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from seedwise.trainables.spec import Count
from seedwise.trainables.static.corpus import Filters
from seedwise.trainables.training.options import STRICT, NotNegative, Positive


@dataclass(frozen=True, config=STRICT)
class ExtractOptions(Filters):
    """X2Static at sentence level. Defaults are those of its code; `layer` and `context` have the paper's defaults."""

    # How text is split into words: unicode (runs of letters, and single signs), whitespace, or jieba (Chinese).
    splitting: Literal["unicode", "whitespace", "jieba"] = "unicode"
    least_count: Count = 10  # occurrences: rarer words get no vector
    # Largest number of words with a vector, the most frequent words; memory is 12 bytes x rows x dimension.
    rows: Count = 200_000
    layer: Count = 6  # the block of the encoder, from 1, whose output is read; later blocks are not computed
    # The states that predict a target word. without: the mean of all pieces of its sentence but its own, as the papers
    # say. with: the mean of all positions, its own pieces and special tokens too, as the released code does.
    context: Literal["without", "with"] = "without"
    negatives: Count = 10  # negative samples per target, with probability ~ sqrt(count)
    # t of the share sqrt(t/f) + t/f of a word's occurrences that become targets, where f is its frequency: a smaller t
    # skips more of the frequent words. Meant for corpora of many millions of words; 0 makes all occurrences targets.
    subsampling: NotNegative = 5e-6
    lr: Positive = 1e-3  # learning rate of SparseAdam, constant
    batch_size: Count = 128  # sentences per update
    epochs: Count = 5  # passes over the corpus
    # Most pieces of a sentence that are read, special tokens included. An encoder with fewer positions reads fewer.
    max_length: Annotated[int, Field(ge=3)] = 200
    buffer: Count = 100_000  # sentences in memory, from which the next is drawn: a smaller buffer shuffles less well
    precision: Literal["fp32", "bf16", "fp16"] = "fp32"  # of the encoder's weights; the vectors are always fp32
    checkpoint_seconds: NotNegative = 60.0  # between two checkpoints: the most work that is lost; 0: after every update


@dataclass(frozen=True, config=STRICT)
class AlignOptions:
    """How languages are mapped into the space of a fixed language. Defaults are those of VecMap."""

    preset: Literal["orthogonal", "supervised", "aaai2018"] = "supervised"  # see mapping.PRESETS
    # Number of directions that a map keeps, the best by agreement of the dictionary; 0 keeps all directions.
    dimensions: Annotated[int, Field(ge=0)] = 0
    selection: bool = True  # leave a language unaligned if alignment hurts; holds out a tenth of its dictionary
    self_learning: bool = False  # refine a given small dictionary by induction; always on without a dictionary
    cutoff: Count = 20_000  # most frequent words in induction and selection; time grows with its square
    start_cutoff: Count = 4_000  # most frequent words in the unsupervised start
    neighbours: Count = 10  # k of CSLS
    # Initial probability of keeping a similarity: low values escape poor solutions.
    keep: Annotated[float, Field(gt=0, le=1)] = 0.1
    # Factor by which `keep` grows whenever the objective stalls: with 1 or less, induction would never end.
    keep_factor: Annotated[float, Field(gt=1)] = 2.0
    patience: Count = 50  # iterations without improvement that count as a stall
    threshold: Positive = 1e-6  # smallest improvement of the objective, a mean cosine
