"""The options of continued pretraining and of its baselines. No torch here: spaces and specifications read this."""

from dataclasses import dataclass, fields
from typing import ClassVar, Literal

from seedwise.trainables.training.options import OptimiserOptions, check_type, hints_of

WORDS_PER_DIRECTION = 4  # with fewer, independent views correlate by 0.87 and more: the edge is 2 sqrt(p/N (1 - p/N))


@dataclass(frozen=True)
class UntouchedOptions:
    """The encoder as it is, and how a classifier is fine-tuned from it: what every row of a comparison shares."""

    title: ClassVar[str] = "untouched"
    steps: ClassVar[int] = 0
    alignment: ClassVar[str] = "none"
    tune_epochs: int = 3  # passes over the labelled source data after pretraining; 0: no classifier, hence no macro_f1
    tune_lr: float = 2e-5  # peak learning rate of that fine-tuning, which decays linearly to zero
    tune_warmup: float = 0.0  # share of its updates over which the rate rises
    tune_batch_size: int = 32  # sentences per update

    def __post_init__(self) -> None:
        hints = hints_of(type(self))
        for field in fields(self):
            check_type(field.name, getattr(self, field.name), hints[field.name])
        if self.tune_epochs < 0:
            raise ValueError(f"tune_epochs: {self.tune_epochs!r} must not be negative")
        for name in ("tune_lr", "tune_batch_size"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name}: {getattr(self, name)!r} must be above 0")
        if not 0 <= self.tune_warmup < 1:
            raise ValueError(f"tune_warmup: {self.tune_warmup!r} is a share of the updates, from 0 up to but below 1")


@dataclass(frozen=True)
class MaskedOptions(OptimiserOptions, UntouchedOptions):
    """Continued pretraining on masked words alone."""

    title: ClassVar[str] = "MLM only"
    lr: float = 5e-5  # peak learning rate of the pretraining
    steps: int = 7500  # updates
    blocks: int = 64  # blocks of text per update, each of inputs.max_length tokens
    block_batch: int = 4  # blocks per forward pass: memory, not the loss
    mask_rate: float = 0.15  # share of the tokens that are to be guessed
    # Blocks come in passes over all of them, or are drawn anew for each forward pass, as by the released code (D6).
    drawn: Literal["passes", "anew"] = "passes"

    def __post_init__(self) -> None:
        OptimiserOptions.__post_init__(self)
        UntouchedOptions.__post_init__(self)
        self.positive("steps", "blocks", "block_batch")
        if not 0 < self.mask_rate < 1:
            raise ValueError(f"mask_rate: {self.mask_rate!r} is a share, above 0 and below 1")


@dataclass(frozen=True)
class MseOptions(MaskedOptions):
    """Masked words, and isolated words drawn to their static vectors by mean squared error."""

    title: ClassVar[str] = "MSE"
    alignment: ClassVar[str] = "mse"
    static: str = ""  # which set of inputs.static; empty: the only one
    weight: float = 1.0  # of the alignment, beside masked words with weight 1
    layer: int | Literal["last"] = "last"  # whose states make the vector of a word, from 1 to the encoder's last
    # pieces: the mean over the pieces of the word, as the paper has it; all: special tokens too, as its code (D4); cls.
    pooling: Literal["pieces", "all", "cls"] = "pieces"
    # masked: padding is neither attended to nor pooled; attended: it is, as the released code does with XLM-R (D3).
    padding: Literal["masked", "attended"] = "masked"
    words: int = 1024  # isolated words per update
    word_batch: int = 64  # words per forward pass: memory; for `loss: released` also its batch (D2)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.not_negative("weight")
        self.positive("words", "word_batch")
        if self.layer != "last" and self.layer < 1:
            raise ValueError(f"layer: {self.layer!r}: layers are counted from 1")


@dataclass(frozen=True)
class DccaOptions(MseOptions):
    """Continued pretraining with any of the alignments; by default that of deep canonical correlation."""

    title: ClassVar[str] = "DCCA"
    alignment: Literal["dcca", "mse", "none"] = "dcca"
    # projected: canonical correlations of all words of an update in few directions; released: as the paper's code,
    # principal subspaces of each forward pass of words, after a centring that does not centre (D1, D2).
    loss: Literal["projected", "released"] = "projected"
    top_k: int = 10  # correlations that count, the highest; the paper's code has 10 and its text does not say (D5)
    directions: int = 64  # principal directions that each side is projected on; far fewer than words
    ridge: float = 1e-3  # added to variances, as a share of their mean: steadier gradients, lower correlations

    def __post_init__(self) -> None:
        super().__post_init__()
        self.positive("top_k", "directions")
        self.not_negative("ridge")
        if self.alignment != "dcca":
            return
        if self.loss == "released":
            if self.top_k >= self.word_batch:
                raise ValueError(f"top_k: {self.top_k} must be below word_batch, or the released loss is constant (D5)")
            if self.words % self.word_batch:
                raise ValueError(f"words: {self.words} must be a multiple of word_batch ({self.word_batch}) (D12)")
        elif not self.top_k <= self.directions <= self.words / WORDS_PER_DIRECTION:
            raise ValueError(
                f"directions: {self.directions} must be at least top_k ({self.top_k}) and at most "
                f"1/{WORDS_PER_DIRECTION} of words ({self.words})"
            )


OPTIONS = {"untouched": UntouchedOptions, "mlm": MaskedOptions, "mse": MseOptions}


def alignment_of(params: dict) -> str:
    """The alignment of a configuration, which a baseline has by what it is."""
    return params.get("alignment") or OPTIONS[params["baseline"]].alignment


def without_tuning(params: dict) -> dict:
    """How a classifier is fine-tuned does not matter where none is."""
    if params["tune_epochs"]:
        return params
    return {name: value for name, value in params.items() if not name.startswith("tune_") or name == "tune_epochs"}


# What the text says; where it is silent, as we read it.
PAPER = {"weight": 1.0, "layer": "last", "pooling": "pieces"}
# What the released code does, whose correlation loss sees 64 words at a time.
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
