"""The YAML file a person writes, as typed, validated models. Every error is one line: the key, the value, the fix."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from search import yaml12
from search.checks import check
from search.errors import RequestError
from search.selection import AGGREGATES, Selection
from spaces import Space, load
from spaces.dimension import nearest
from trainables.inputs.paths import read_text

BUILT_IN = Path(__file__).with_name("builtin")
METHODS = ("stitching",)
TASKS = ("sib200",)
SAMPLERS = ("tpe", "random", "grid")
POLICIES = ("fixed",)

Text = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(ge=1)]


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Custom(Model):
    """A method of one's own: a trainable class and a space function by import path, `package.module:name`."""

    trainable: Text
    space: Text


class Task(Model):
    """Labelled data. `data` is a folder in the task's published layout; `source` has labels, `targets` are audited."""

    name: Literal[TASKS]
    data: Text
    source: Text
    targets: Annotated[list[Text], Field(min_length=1)]


class Inputs(Model):
    """What a method reads besides the task, by target language."""

    vectors: dict[str, Text] = {}
    lexicons: dict[str, Text] = {}
    vector_rows: Count = 200_000  # rows read from the top of a vector file; files are sorted by frequency
    max_length: Annotated[int, Field(ge=3)] = 128  # longest input in tokens, special ones included; longer ones are cut
    unknown: Literal["lowercase", "unk"] = "lowercase"  # a word without a vector: try its lower case first, or not


class Budget(Model):
    """Where the search ends, at whichever comes first. A configuration that was begun gets all its replicates."""

    runs: Count | None = None
    hours: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None


class Replicates(Model):
    """How many seeds a configuration gets. `fixed`: every configuration the same `n`, paired."""

    policy: Literal[POLICIES] = "fixed"
    n: Count = 5


class Select(Model):
    """What ranks. `on: target_dev` uses target labels: an oracle, and labelled so wherever it is shown.

    `on: metric` ranks by the reported metric of exactly that name, for methods without a task.
    """

    metric: Text = "macro_f1"
    on: Literal["source_dev", "target_dev", "metric"] = "source_dev"
    aggregate: Literal[tuple(AGGREGATES)] = "mean"


class Resources(Model):
    """What one run occupies. `gpus_per_run: auto` is one GPU where there are any, else none; fractions share one."""

    gpus_per_run: Literal["auto"] | Annotated[float, Field(ge=0)] = "auto"
    cpus_per_run: Count = 1


class Tracking(Model):
    """Where MLflow lives: a database next to the searches, or a server. `off` for none."""

    uri: Text = "sqlite:///runs/mlflow.db"


class Checkpoints(Model):
    """A run that is longer than `seconds` saves its state that often, and goes on from there after a kill."""

    seconds: Annotated[float, Field(ge=0)] = 60.0


class Specification(Model):
    """One search, resolved: the file, the built-in defaults and the overrides of the command line."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    method: Literal[METHODS] | Custom
    model: Text | None = None
    task: Task | None = None
    inputs: Inputs = Inputs()
    space: str | dict[str, Any] = "default"
    enqueue: list[dict[str, Any]] = []  # configurations that go first
    sampler: Literal[SAMPLERS] = "tpe"
    budget: Budget
    replicates: Replicates = Replicates()
    select: Select = Select()
    resources: Resources = Resources()
    checkpoints: Checkpoints = Checkpoints()
    tracking: Tracking = Tracking()
    seed: int = 0

    def as_dict(self) -> dict:
        """Plain data, as it stands in search.yaml and in the ledger."""
        return self.model_dump(mode="json")

    def load_space(self) -> Space:
        method = self.method if isinstance(self.method, str) else self.method.model_dump()
        return load(method, self.space)

    def selection(self) -> Selection:
        return Selection.of(self.as_dict())

    def configurations(self) -> int | None:
        """How many configurations the budget of runs pays for; None where only hours bound it."""
        return None if self.budget.runs is None else self.budget.runs // self.replicates.n


def read(source: str, overrides: list[str] = ()) -> Specification:
    """Read a YAML file or a built-in name, apply `key.sub=value` overrides, check everything that can be checked.

    Paths in a file are relative to the current folder; `world:NAME` is a file of the embedded world.
    """
    path = Path(source)
    if not path.is_file():
        path = BUILT_IN / f"{source}.yaml"
    if not path.is_file():
        known = sorted(entry.stem for entry in BUILT_IN.glob("*.yaml"))
        raise RequestError(f"{source}: no such file, and no built-in specification.{nearest(source, known)}")
    return from_text(read_text(path, "specification"), overrides, where=str(source))


def from_text(text: str, overrides: list[str] = (), *, where: str = "specification") -> Specification:
    try:
        content = yaml12.load(text)
    except yaml12.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" line {mark.line + 1}" if mark else ""
        raise RequestError(f"{where}{line}: not YAML: {getattr(error, 'problem', error)}.") from error
    if not isinstance(content, dict):
        raise RequestError(f"{where}: a specification is a mapping of keys to values, this is {content!r}.")
    for override in overrides:
        _set(content, override)
    return from_dict(content)


def from_dict(content: dict) -> Specification:
    """A checked specification from plain data."""
    try:
        specification = Specification.model_validate(content)
    except ValidationError as error:
        raise RequestError(_in_one_line(error, content)) from error
    check(specification)
    return specification


def _set(content: dict, override: str) -> None:
    """Apply one `key.sub=value`; the value is YAML, so numbers, lists and mappings are written as in a file."""
    key, equals, value = override.partition("=")
    if not equals or not key:
        raise RequestError(f"--set {override}: write key=value, for example --set budget.runs=20.")
    try:
        parsed = yaml12.load(value)
    except yaml12.YAMLError as error:
        raise RequestError(f"--set {override}: the value is not YAML ({getattr(error, 'problem', error)}).") from error
    *parents, last = key.split(".")
    place = content
    for parent in parents:
        if not isinstance(place.get(parent), dict):
            place[parent] = {"base": place[parent]} if parent == "space" and isinstance(place.get(parent), str) else {}
        place = place[parent]
    place[last] = parsed


def _in_one_line(error: ValidationError, content: dict) -> str:
    """The first problem of a validation: which key, which value, what would be right."""
    # Of a choice between kinds (auto, or a number) the kind that was meant says more.
    kinds = error.errors()[:2]
    problem = next(
        (one for one in kinds if (one["type"] == "literal_error") == isinstance(one["input"], str)), kinds[0]
    )
    location = [
        part for part in problem["loc"] if not str(part).startswith(("literal[", "Custom", "function-", "constr"))
    ]
    location = [part for part in location if part not in ("float", "int", "str", "dict[str,any]")]
    key = ".".join(map(str, location))
    if problem["type"] == "extra_forbidden":
        known = _fields(location[:-1])
        return f"{key}: there is no such key.{nearest(location[-1], known)}"
    if problem["type"] == "missing":
        return f"{key}: this key is missing. Add it{_example(key)}."
    given = problem["input"]
    return f"{key}: {given!r} is wrong: {problem['msg'][0].lower()}{problem['msg'][1:]}."


def _fields(location: list) -> list[str]:
    """The keys that exist below a place in the specification."""
    model: Any = Specification
    for part in location:
        hint = model.model_fields[part].annotation if part in getattr(model, "model_fields", {}) else None
        options = [hint, *getattr(hint, "__args__", ())]
        model = next((option for option in options if isinstance(option, type) and issubclass(option, Model)), None)
        if model is None:
            return []
    return list(model.model_fields)


def _example(key: str) -> str:
    examples = {"name": "name: my-search", "method": "method: stitching", "budget": "budget: {runs: 60}"}
    return f", for example `{examples[key]}`" if key in examples else ""
