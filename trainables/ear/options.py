"""The options of EAR and its baselines. No torch here: spaces and specifications import this module."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from seedwise.trainables.spec import Count
from seedwise.trainables.training.options import STRICT, NotNegative, Positive, TrainingOptions


@dataclass(frozen=True, config=STRICT)
class PlainOptions(TrainingOptions):
    """Plain fine-tuning on the source. EAR and all its baselines share these options."""

    title: ClassVar[str] = "plain"
    epochs: Count = 3  # passes over the source training data, each with all copies
    # standard: transformers' head for this encoder; linear: W h_CLS + b, as in equation 3; released: standard, but for
    # encoders of RoBERTa's kind with one more dropout before it, as in the paper's code.
    head: Literal["standard", "linear", "released"] = "standard"

    def passes(self) -> float:
        """Encoder passes per training example over a whole run: the budget by which methods are compared."""
        return float(self.epochs)


@dataclass(frozen=True, config=STRICT)
class AugmentedOptions(PlainOptions):
    """RS-DA: training only on sentences in which words are replaced by synonyms."""

    title: ClassVar[str] = "RS-DA"
    copies: Count = 1  # changed copies of an example in each epoch; the paper has 3 (XNLI) and 10 (PAWS-X)
    # Share of the dictionary that is used, drawn by the augmentation stream; smaller shares are nested.
    scale: Annotated[float, Field(gt=0, le=1)] = 1.0
    redraw: Literal["epoch", "once"] = "epoch"  # new copies in every epoch, or the same copies in all epochs
    # loose: ignores capitals and punctuation around a word; exact: as in the paper's code, where "Good" and "good," are
    # not in the dictionary.
    matching: Literal["loose", "exact"] = "loose"

    def passes(self) -> float:
        return float(self.epochs * self.copies)


@dataclass(frozen=True, config=STRICT)
class EarOptions(AugmentedOptions):
    """Equations 1 to 5 of the paper, with its alternatives."""

    title: ClassVar[str] = "EAR"
    gradient_checkpointing: bool | Literal["selective"] = "selective"  # two streams at once take twice the memory
    push: Literal["ept", "nt", "none"] = "ept"  # equation 1, Gaussian noise on the copy's embeddings, or no push
    pull: Literal["apt", "srpt", "none"] = "apt"  # equation 2, its formula on mean-pooled states, or no pull
    alpha: NotNegative = 1.0  # weight of the push; no effect with nt, which adds no loss
    beta: NotNegative = 0.1  # weight of the pull
    layer: Count = 6  # the layer whose attention is pulled, from 1 to the encoder's last
    sigma: NotNegative = 0.1  # of nt: the noise's standard deviation, as a multiple of the embeddings' own
    # Mean or sum of squares over dimensions, and over cells of the attention maps. With sums, equal alpha and beta
    # weigh hundreds to thousands of times more.
    reduction: Literal["mean", "sum"] = "mean"
    cap: NotNegative = 1.0  # squared distance per dimension beyond which the push gains nothing; 0: no cap
    # The same dropout mask for a sentence and its copy. Otherwise most of push and pull is noise of the masks.
    shared_dropout: bool = True
    # Cells of the maps: words (pieces joined, no padding), tokens (no padding), or padded (all up to inputs.max_length,
    # as in the paper's code; every batch takes the time of the longest inputs).
    attention: Literal["words", "tokens", "padded"] = "words"
    # Pairs whose copy is unchanged: trained without or with push and pull. No effect with shared dropout.
    unchanged: Literal["skip", "keep"] = "skip"

    def passes(self) -> float:
        return 2.0 * self.epochs * self.copies


@dataclass(frozen=True, config=STRICT)
class PerturbedOptions(PlainOptions):
    """RS-RP: training on embeddings moved in a random direction, anywhere within a ball."""

    title: ClassVar[str] = "RS-RP"
    radius: Positive = 0.1  # of the ball around each token's embedding, in units of the embeddings' mean length


@dataclass(frozen=True, config=STRICT)
class AdversarialOptions(PerturbedOptions):
    """ADV: training on embeddings moved to where the loss is worst, by projected gradient ascent within the ball."""

    title: ClassVar[str] = "ADV"
    ascents: Count = 1  # steps of the ascent; each costs an encoder pass

    def passes(self) -> float:
        return float(self.epochs * (1 + self.ascents))


# The choices in the paper's text; where the text makes no choice, its formulas without additions.
PAPER = {
    "reduction": "sum",
    "cap": 0.0,
    "shared_dropout": False,
    "attention": "tokens",
    "unchanged": "keep",
    "matching": "exact",  # its augmented data come from the released generator
    "redraw": "once",
    "head": "linear",
}
# The released code. Its scripts have alpha = 0.1 and beta = 1, the reverse of the paper's.
REFERENCE = PAPER | {"reduction": "mean", "attention": "padded", "head": "released"}
