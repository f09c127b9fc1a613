"""What a method says of itself, for whoever reads, checks, searches or exports it: they keep no tables of their own.

No torch here, and none in a method's `spec.py`: specifications, spaces and the command line read it.
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

    `shape` is what it holds: `one` file or name; files `per_language`; a file of each language or one `pattern` with
    {language} in it; `sets` of such files by name; `pairs` of files by language; or a `value`, of `type`.
    """

    shape: Literal["one", "per_language", "pattern", "sets", "pairs", "value"]
    of: Literal["targets", "scored", "all"] = "targets"  # scored: the pivots too; all: the source and the targets
    folder: bool = False  # a folder or a hub id, not a file
    required: bool = False
    missing: str = ""  # what is said where a required one is not there; those per language have a text of their own
    type: Any = None  # of a value
    default: Any = None  # of a value


@dataclass(frozen=True)
class Baseline:
    """Another way to use the same data, which is shown beside a method and never ranked."""

    options: type  # a dataclass that refuses what it cannot be; its `title` is what a leaderboard calls this
    choices: Mapping[str, Sequence] = field(default_factory=dict)  # its space: all combinations of these are tried
    canonical: Callable[[dict], dict] = dict  # drops what cannot matter
    unread: tuple[str, ...] = ()  # options that it inherits and does not read, so that nobody sets them
    # From the configurations that the method can ask for: what sizes this one, so that none costs more than another.
    resize: Callable[[Sequence[dict]], Callable[[dict], dict]] | None = None
    needs: frozenset[str] = frozenset()  # inputs by name, and "target_train": the training sets of the targets


@dataclass(frozen=True)
class Metric:
    """A metric that a method reports besides those of the task. Where it needs translations, to select by it is an
    oracle, as target labels are."""

    uses: Literal["unlabelled", "translations"]
    input: str = ""  # without which there is none


@dataclass(frozen=True)
class Export:
    """Exported models: the hub's pipeline for them, and what people must know."""

    pipeline: str
    scores: str = ""  # what a score on the card is, where it is not the model's own
    then: str = ""  # what to do with a folder


@dataclass(frozen=True)
class Landscape:
    """What lies between trained models of a method, whose landscape.py has two functions: `subject`, which turns a run
    into what a landscape moves, and `labelled`, which reads the training sets of the targets."""

    shared: bool  # one source model for all targets; else one for each
    fixed: Settings = field(default_factory=dict)  # parameters that all its runs have
    baselines: bool = False  # a baseline may take the method's place


def nothing(request: "Request", candidates: "Candidates") -> Iterable[RequestError]:
    """No further checks."""
    return ()


@dataclass(frozen=True)
class MethodSpec:
    """All that the rest of the program knows of a method."""

    name: str  # of its folder in trainables/ and of its module in spaces/
    class_name: str  # of its runs, in its trainable.py
    options: type
    baselines: Mapping[str, Baseline]
    inputs: Mapping[str, Input]
    encoder: str  # which one `model` has to name, in words
    tasks: frozenset[str]  # sentences, pairs
    compat: Mapping[str, Settings]  # the parameters that `compat: NAME` fixes
    follows: tuple[str, ...]  # parameters that its baselines take over from its configurations
    citation: str  # BibTeX
    spaces: tuple[str, ...] = ("default", "paper")  # the functions of its module in spaces/
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    check: Callable[["Request", "Candidates"], Iterable[RequestError]] = nothing
    export: Export | None = None
    landscape: Landscape | None = None

    @property
    def trainable(self) -> str:
        """The import path of the class of its runs."""
        return f"seedwise.trainables.{self.name}.trainable:{self.class_name}"


# What several methods read.
MAX_LENGTH = Input("value", type=Annotated[int, Field(ge=3)], default=128)  # longest input in tokens, special ones
# included; longer ones are cut
VECTOR_ROWS = Input("value", type=Count, default=200_000)  # rows read from the top of a vector file, the most frequent


def without_files(key: str, files: Mapping[str, Any], languages: Iterable[str]) -> Iterable[RequestError]:
    """An error for each language that has no file below a key."""
    for language in languages:
        if language not in files:
            fix = f"Add `{language}: FILE` there, or drop it from task.targets."
            yield RequestError(f"{key}.{language}", "this language has no file", fix)
