"""The typed keys of a specification that name models and data, from which methods prepare. Imports no torch."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal, Protocol

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model

from seedwise.credentials import has_password
from seedwise.trainables.methods import all_inputs

TASKS = ("sib200", "taxi1500", "amazon", "xnli", "pawsx", "text")


def _without_password(text: str) -> str:
    """Return the text, or raise an error if it contains a password."""
    if has_password(text):
        raise ValueError("it has a password, which would be saved; leave it out, and set it in the environment")
    return text


Text = Annotated[str, Field(min_length=1), AfterValidator(_without_password)]
Language = Annotated[str, Field(pattern=r"^\w[\w.-]{0,59}$")]  # it names a folder of an exported model
Files = Text | dict[str, Text]


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Task(Model):
    """Labelled data, and the languages of a search."""

    name: Literal[TASKS]
    """A task in its published format, or `text` for your own sentences or sentence pairs."""
    data: Text
    """A folder in the task's published layout, a pattern of files with `{language}` and `{split}`, a hub id, or a
    folder in the hub's format."""
    source: Language
    """The language whose labelled data models are trained on."""
    targets: list[Language]
    """The languages to transfer to. Their labels serve audits only, unless `select.on` says otherwise."""
    pivots: list[Language] = []
    """Languages whose labelled dev sets may select (`select.on: pivot_dev`). Reports leave these languages out."""
    text: Text | None = None
    """The column with the sentence. Default: the published name, or `text` in the task `text`."""
    second: Text | None = None
    """The column with the second sentence. xnli and pawsx always have pairs, the task `text` only with this key."""
    label: Text | None = None
    """The column with the class. Default: the published name, or `label` in the task `text`."""
    labels: list[str | int] | None = None
    """The classes in order. Default: the published classes, or the classes in the source's training set."""
    config: Text = "{language}"
    """The configuration of a hub data set that holds a language's data."""
    splits: dict[Literal["train", "dev", "test"], Text] = {}
    """The names of the splits in the data, if they differ. On the hub, dev is `validation` by default."""

    def languages(self, of: str = "all") -> list[str]:
        """A group of languages: `targets`; `scored`, the targets and pivots; or `all`, the source and the targets."""
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
    select: Any  # its `metric` ranks configurations
    landscape: Any  # its options; None in a search

    def as_dict(self) -> dict:
        """The specification as plain data."""


def file_for(language: str, files: Files) -> str:
    """The file of a language, from a pattern with {language} in it or from files by language."""
    return files.replace("{language}", language) if isinstance(files, str) else files[language]


def files_of(key: str, value: Any, languages: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the key and the text of each file or name in an input; `value` may be nested in any way."""
    if isinstance(value, str) and "{language}" in value:
        yield from ((f"{key}.{language}", file_for(language, value)) for language in languages)
    elif isinstance(value, str):
        yield key, value
    else:
        for name, inner in value.items() if isinstance(value, Mapping) else enumerate(value or ()):
            yield from files_of(f"{key}.{name}", inner, languages)
