"""The options of extracting word vectors from an encoder. No torch here: command lines read this."""

from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from seedwise.trainables.spec import Count
from seedwise.trainables.static.corpus import Filters
from seedwise.trainables.training.options import STRICT, NotNegative, Positive


@dataclass(frozen=True, config=STRICT)
class ExtractOptions(Filters):
    """X2Static at the level of sentences. Defaults are its code's; those of `layer` and `context` are the paper's."""

    # How text becomes words: runs of letters and single signs, what lies between white space, or Chinese words.
    splitting: Literal["unicode", "whitespace", "jieba"] = "unicode"
    least_count: Count = 10  # occurrences: rarer words get no vector
    # At most so many words get a vector, the most frequent; memory is 12 bytes x rows x dimension.
    rows: Count = 200_000
    layer: Count = 6  # the block of the encoder, from 1, whose output is read; later ones are not even computed
    # What a target word is predicted from. without: the mean of all pieces of its sentence but its own, as the papers
    # say. with: of all positions, its own and special tokens too, as the released code does.
    context: Literal["without", "with"] = "without"
    negatives: Count = 10  # words drawn against each target, with probability ~ sqrt(count)
    # t of the share sqrt(t/f) + t/f of a word's occurrences that become targets, where f is its frequency: smaller
    # skips more of the frequent words. Meant for corpora of many millions of words; 0 makes all of them targets.
    subsampling: NotNegative = 5e-6
    lr: Positive = 1e-3  # learning rate of SparseAdam, constant
    batch_size: Count = 128  # sentences per update
    epochs: Count = 5  # passes over the corpus
    # Pieces of a sentence that are read, both special ones included. An encoder that has room for fewer reads fewer.
    max_length: Annotated[int, Field(ge=3)] = 200
    buffer: Count = 100_000  # sentences in memory from which the next is drawn: smaller mixes the corpus less well
    precision: Literal["fp32", "bf16", "fp16"] = "fp32"  # of the encoder's weights; the vectors are always fp32
    checkpoint_seconds: NotNegative = 60.0  # between two checkpoints: at most so much work is lost; 0 is one per update
