"""Descriptions of methods for the rest of the program.

Neither this module nor a method's `spec.py` imports torch: specifications, spaces and the command line import both.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from seedwise.errors import RequestError

if TYPE_CHECKING:
    from seedwise.trainables.method import Candidates
    from seedwise.trainables.request import Request

Count = Annotated[int, Field(ge=1)]
Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Input:
    """One key below `inputs:`.

    `shape` says what the key holds: a `single` file or name; files `per_language`; a `pattern` with {language} in it,
    or files by language; named `sets` of patterns; `pairs` of files by language; or a `value` of a `type`.
    """

    shape: Literal["single", "per_language", "pattern", "sets", "pairs", "value"]
    of: Literal["targets", "scored", "all"] = "targets"  # scored: the pivots too; all: the source and the targets
    folder: bool = False  # a folder or a hub id, not a file
    required: bool = False
    missing: str = ""  # the error if a required input is missing; not used for files by language
    fix: str = ""  # the advice after that error
    type: Any = None  # of a value
    default: Any = None  # of a value
    text: str = ""  # its documentation in docs/specification.md


@dataclass(frozen=True)
class Baseline:
    """Another way to use the same data. A leaderboard shows it beside a method and never ranks it."""

    options: type  # a dataclass that checks its values; its `title` is the name in a leaderboard
    # Parameters of its own that are tried, beside learning rate and length, which follow the method's.
    choices: Mapping[str, Sequence] = field(default_factory=dict)
    canonical: Callable[[dict], dict] = dict  # drops parameters that cannot matter
    unread: tuple[str, ...] = ()  # options that it inherits and does not read: setting one is an error
    needs: frozenset[str] = frozenset()  # inputs by name, and "target_train": the training sets of the targets
    kind: str = ""  # a parameter whose values a leaderboard shows as separate baselines

    def title(self, params: dict) -> str:
        """The name that a leaderboard gives to a configuration of this baseline."""
        return f"{self.options.title} {params[self.kind]}" if self.kind in params else self.options.title


@dataclass(frozen=True)
class Metric:
    """A metric that a method adds to the task's metrics. Selecting by a metric that uses translations is an oracle."""

    uses: Literal["unlabelled", "translations"]
    input: str = ""  # the key below `inputs:` that it needs
    bounds: tuple[float, float] = (0.0, 1.0)  # no value can lie beyond them, and so no interval


def epochs_of_batches(params: dict) -> dict:
    """The number of epochs and the batch size of a run, as keys of transformers.TrainingArguments."""
    return {
        "num_train_epochs": params["epochs"],
        "per_device_train_batch_size": params["batch_size"],
        "gradient_accumulation_steps": params["accumulation"],
    }


@dataclass(frozen=True)
class Export:
    """How exported models are described: the hub's pipeline for them, and notes for their users."""

    pipeline: str
    scores: str = ""  # what the scores on the model card measure, if not the exported model
    then: str = 'use it with transformers: pipeline("{pipeline}", model="{folder}", truncation=True)'
    arguments: Callable[[dict], dict] = epochs_of_batches  # for options that derive from OptimiserOptions


@dataclass(frozen=True)
class Landscape:
    """How a method supports landscapes. Its landscape.py has two functions: `subject` wraps a run so that its model can
    be moved, and `labelled` reads the training sets of the targets."""

    shared: bool  # all targets share a source model; else each target has its own source model
    fixed: Settings = field(default_factory=dict)  # parameters that all its runs have
    baselines: bool = False  # whether a baseline may replace the method


@dataclass(frozen=True)
class MethodSpec:
    """All that the rest of the program knows about a method."""

    name: str  # also the name of its folder in trainables/ and of its module in spaces/
    class_name: str  # the class of its runs, in its trainable.py
    options: type
    baselines: Mapping[str, Baseline]
    inputs: Mapping[str, Input]
    encoder: str  # the kind of encoder that `model` must name, in words
    tasks: frozenset[str]  # sentences, pairs
    compat: Mapping[str, Settings]  # the parameters that `compat: NAME` fixes
    follows: tuple[str, ...]  # parameters that its baselines take from its configurations
    citation: str  # BibTeX
    spaces: tuple[str, ...] = ("default", "paper")  # the functions of its module in spaces/
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    check: Callable[["Request", "Candidates"], Iterable[RequestError]] = lambda request, candidates: ()
    export: Export | None = None
    landscape: Landscape | None = None
    # Whether its options and those of its baselines have `passes()`, the encoder passes per example of a whole run. If
    # so, they limit the epochs of baselines; otherwise its own epochs or steps do.
    counts_passes: bool = False

    @property
    def trainable(self) -> str:
        """The import path of the class of the method's runs."""
        return f"seedwise.trainables.{self.name}.trainable:{self.class_name}"


# Inputs of several methods.
MAX_LENGTH = Input(
    "value",
    type=Annotated[int, Field(ge=3)],
    default=128,
    text="The largest number of tokens of an input, special tokens included; longer inputs are cut.",
)
VECTOR_ROWS = Input(
    "value", type=Count, default=200_000, text="Rows read from the top of a vector file: its most frequent words."
)


def without_files(key: str, files: Mapping[str, Any], languages: Iterable[str]) -> Iterable[RequestError]:
    """An error for each language that has no file below a key."""
    for language in languages:
        if language not in files:
            fix = f"Add `{language}: FILE` there, or drop it from task.targets."
            yield RequestError(f"{key}.{language}", "this language has no file", fix)
