"""The options of continued pretraining and its baselines. No torch here: spaces and specifications import this."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from seedwise.errors import RequestError
from seedwise.trainables.spec import Count
from seedwise.trainables.training.options import STRICT, NotNegative, OptimiserOptions, Positive, Share

WORDS_PER_DIRECTION = 4  # with fewer words, independent views correlate by 0.87 and more: 2 sqrt(p/N (1 - p/N))


@dataclass(frozen=True, config=STRICT)
class UntouchedOptions:
    """The unchanged encoder, and the fine-tuning of a classifier from it, the same in all rows of a comparison."""

    title: ClassVar[str] = "untouched"
    steps: ClassVar[int] = 0
    alignment: ClassVar[str] = "none"
    # Passes over the labelled source data after pretraining; 0: no classifier, hence no macro_f1.
    tune_epochs: Annotated[int, Field(ge=0)] = 3
    tune_lr: Positive = 2e-5  # peak learning rate of that fine-tuning, which decays linearly to zero
    tune_warmup: Share = 0.0  # share of its updates over which the rate rises
    tune_batch_size: Count = 32  # sentences per update


@dataclass(frozen=True, config=STRICT)
class MaskedOptions(OptimiserOptions, UntouchedOptions):
    """Continued pretraining on masked words alone."""

    title: ClassVar[str] = "MLM only"
    lr: Positive = 5e-5  # peak learning rate of the pretraining
    steps: Count = 7500  # updates
    blocks: Count = 64  # blocks of text per update, each of inputs.max_length tokens
    block_batch: Count = 4  # blocks per forward pass: affects memory, not the loss
    mask_rate: Annotated[float, Field(gt=0, lt=1)] = 0.15  # share of the tokens that are masked
    # Blocks come in passes over all of them, or are drawn anew for each forward pass, as in the released code (D6).
    drawn: Literal["passes", "anew"] = "passes"


@dataclass(frozen=True, config=STRICT)
class MseOptions(MaskedOptions):
    """Masked words, and isolated words aligned with their static vectors by mean squared error."""

    title: ClassVar[str] = "MSE"
    alignment: ClassVar[str] = "mse"
    static: str = ""  # the name of a set in inputs.static; empty: the only set
    weight: NotNegative = 1.0  # of the alignment loss; the loss on masked words has weight 1
    layer: Count | Literal["last"] = "last"  # the layer whose states are word vectors, from 1 to the encoder's last
    # pieces: the mean over the word's pieces, as in the paper; all: special tokens too, as in its code (D4); cls: CLS.
    pooling: Literal["pieces", "all", "cls"] = "pieces"
    # masked: padding is neither attended to nor pooled; attended: it is both, as in the released code with XLM-R (D3).
    padding: Literal["masked", "attended"] = "masked"
    words: Count = 1024  # isolated words per update
    word_batch: Count = 64  # words per forward pass: affects memory; with `loss: released` also the loss (D2)


@dataclass(frozen=True, config=STRICT)
class DccaOptions(MseOptions):
    """Continued pretraining with any of the alignments; by default deep canonical correlation."""

    title: ClassVar[str] = "DCCA"
    alignment: Literal["dcca", "mse", "none"] = "dcca"
    # projected: canonical correlations of all words of an update in few directions; released: the paper's code, which
    # compares principal subspaces of each forward pass of words, with wrong centring (D1, D2).
    loss: Literal["projected", "released"] = "projected"
    top_k: Count = 10  # number of highest correlations that count; the paper's code has 10, its text no number (D5)
    directions: Count = 64  # principal directions onto which each side is projected; far fewer than words
    ridge: NotNegative = 1e-3  # added to variances, as a share of their mean: more stable gradients, lower correlations

    @model_validator(mode="after")
    def _check_sizes(self) -> Self:
        if self.alignment != "dcca":
            return self
        if self.loss == "released":
            if self.top_k >= self.word_batch:
                problem = f"{self.top_k} must be below word_batch, or the released loss is constant (D5)"
                raise RequestError("top_k", problem, f"Write less than {self.word_batch}.")
            if self.words % self.word_batch:
                problem = f"{self.words} must be a multiple of word_batch ({self.word_batch}) (D12)"
                raise RequestError("words", problem, "Change one of the two.")
        elif not self.top_k <= self.directions <= self.words / WORDS_PER_DIRECTION:
            raise RequestError(
                "directions",
                f"{self.directions} must be at least top_k ({self.top_k}) and at most 1/{WORDS_PER_DIRECTION} of words "
                f"({self.words})",
                "Change one of the three.",
            )
        return self


OPTIONS = {"untouched": UntouchedOptions, "mlm": MaskedOptions, "mse": MseOptions}


def alignment_of(params: dict) -> str:
    """The alignment of a configuration; a baseline's alignment is fixed."""
    return params.get("alignment") or OPTIONS[params["baseline"]].alignment


def without_tuning(params: dict) -> dict:
    """Drop the options of fine-tuning if no classifier is fine-tuned."""
    if params["tune_epochs"]:
        return params
    return {name: value for name, value in params.items() if not name.startswith("tune_") or name == "tune_epochs"}


# The choices in the paper's text, and ours where the text makes no choice.
PAPER = {"weight": 1.0, "layer": "last", "pooling": "pieces"}
# The released code, whose correlation loss sees 64 words at a time.
REFERENCE = {
    "weight": 1.0,
    "layer": "last",
    "pooling": "all",
    "padding": "attended",
    "loss": "released",
    "top_k": 10,
    "word_batch": 64,
    "block_batch": 4,
    "drawn": "anew",
}
