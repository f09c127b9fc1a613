"""The options of extracting word vectors from an encoder. No torch here: command lines read this."""

from dataclasses import dataclass
from typing import Literal

from seedwise.trainables.static.corpus import Filters


@dataclass(frozen=True)
class ExtractOptions(Filters):
    """X2Static at the level of sentences. Defaults are its code's; those of `layer` and `context` are the paper's."""

    # How text becomes words: runs of letters and single signs, what lies between white space, or Chinese words.
    splitting: Literal["unicode", "whitespace", "jieba"] = "unicode"
    least_count: int = 10  # occurrences: rarer words get no vector
    rows: int = 200_000  # words: at most so many get a vector, the most frequent; memory is 12 bytes x rows x dimension
    layer: int = 6  # the block of the encoder, from 1, whose output is read; later ones are not even computed
    # What a target word is predicted from. without: the mean of all pieces of its sentence but its own, as the papers
    # say. with: of all positions, its own and special tokens too, as the released code does.
    context: Literal["without", "with"] = "without"
    negatives: int = 10  # words drawn against each target, with probability ~ sqrt(count)
    # t of the share sqrt(t/f) + t/f of a word's occurrences that become targets, where f is its frequency: smaller
    # skips more of the frequent words. Meant for corpora of many millions of words; 0 makes all of them targets.
    subsampling: float = 5e-6
    lr: float = 1e-3  # learning rate of SparseAdam, constant
    batch_size: int = 128  # sentences per update
    epochs: int = 5  # passes over the corpus
    # Pieces of a sentence that are read, special ones included. An encoder that has room for fewer reads fewer.
    max_length: int = 200
    buffer: int = 100_000  # sentences in memory from which the next is drawn: smaller mixes the corpus less well
    precision: Literal["fp32", "bf16", "fp16"] = "fp32"  # of the encoder's weights; the vectors are always fp32
    checkpoint_seconds: float = 60.0  # between two checkpoints: at most so much work is lost; 0 is one per update

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("least_count", "rows", "layer", "negatives", "batch_size", "epochs", "buffer"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: {getattr(self, name)!r} must be at least 1")
        for name in ("subsampling", "checkpoint_seconds"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name}: {getattr(self, name)!r} must not be negative")
        if self.lr <= 0:
            raise ValueError(f"lr: {self.lr!r} must be above 0")
        if self.max_length < 3:
            raise ValueError(f"max_length: {self.max_length!r} has no room for a piece between two special ones")
