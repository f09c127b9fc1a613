"""The typed keys of a specification for models and data: a method is prepared from them. Imports no torch."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal, Protocol

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model

from seedwise.credentials import has_password
from seedwise.trainables.methods import all_inputs

TASKS = ("sib200", "taxi1500", "amazon", "xnli", "pawsx", "text")


def _without_password(text: str) -> str:
    """A text that may be saved."""
    if has_password(text):
        raise ValueError("it has a password, which would be written down; leave it out, and set it in the environment")
    return text


Text = Annotated[str, Field(min_length=1), AfterValidator(_without_password)]
Language = Annotated[str, Field(pattern=r"^\w[\w.-]{0,59}$")]  # it names a folder of an exported model
Files = Text | dict[str, Text]


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Task(Model):
    """Labelled data, and the languages of a search."""

    name: Literal[TASKS]
    """A task in its published format, or `text` for sentences, or pairs of them, of your own."""
    data: Text
    """A folder in the task's published layout, a pattern of files with `{language}` and `{split}`, a hub id, or a
    folder in the hub's format."""
    source: Language
    """The language with labels that models are trained on."""
    targets: list[Language]
    """The languages to transfer to. Their labels are for audits, unless `select.on` says otherwise."""
    pivots: list[Language] = []
    """Languages whose labelled dev sets may select (`select.on: pivot_dev`) and that are never reported on."""
    text: Text | None = None
    """The column of the sentence; none: as published, `text` in the task named text."""
    second: Text | None = None
    """The column of the second sentence; xnli and pawsx are pairs, text is with this key."""
    label: Text | None = None
    """The column of the class; none: as published, `label` in the task named text."""
    labels: list[str | int] | None = None
    """The classes in order; none: as published, or those of source training."""
    config: Text = "{language}"
    """The configuration of a hub data set that holds a language."""
    splits: dict[Literal["train", "dev", "test"], Text] = {}
    """Other names of the splits; the hub's dev is `validation`."""

    def languages(self, of: str = "all") -> list[str]:
        """The targets; with the pivots, all that are `scored`; or `all`: the source and the targets."""
        groups = {"targets": self.targets, "scored": [*self.targets, *self.pivots]}
        return groups.get(of) or [self.source, *self.targets]


SHAPES: dict[str, tuple[Any, Any]] = {  # of inputs: their type and default
    "single": (Text | None, None),
    "per_language": (dict[str, Text], {}),
    "pattern": (Files, {}),
    "sets": (dict[str, Files], {}),
    "pairs": (dict[str, tuple[Text, Text]], {}),
}

Inputs = create_model(
    "Inputs",
    __base__=Model,
    __doc__="What the methods read besides the task.",
    **{name: SHAPES.get(key.shape, (key.type, key.default)) for name, key in all_inputs().items()},
)


class Request(Protocol):
    """The checked specification, as a method sees it."""

    name: str
    method: Any
    model: str | None
    compat: str
    task: Task
    inputs: Any  # `Inputs`
    space: Any  # its name, or overrides
    baselines: Mapping[str, dict]
    enqueue: list[dict] | None  # configurations that go first
    select: Any  # `metric`: what ranks
    landscape: Any  # its options; None in a search

    def as_dict(self) -> dict:
        """The same as plain data."""


def file_for(language: str, files: Files) -> str:
    """The file of a language, where each has its own or a path has {language} in it."""
    return files.replace("{language}", language) if isinstance(files, str) else files[language]


def files_of(key: str, value: Any, languages: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The files and names that an input holds, each with its own key; `value` may be nested in any way."""
    if isinstance(value, str) and "{language}" in value:
        yield from ((f"{key}.{language}", file_for(language, value)) for language in languages)
    elif isinstance(value, str):
        yield key, value
    else:
        for name, inner in value.items() if isinstance(value, Mapping) else enumerate(value or ()):
            yield from files_of(f"{key}.{name}", inner, languages)
