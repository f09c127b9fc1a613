"""The YAML file a person writes, as typed, validated models. Every error is one line: the key, the value, the fix."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from seedwise import yaml12
from seedwise.credentials import HIDDEN, check_address, has_password, mask
from seedwise.errors import RequestError
from seedwise.search.decide.baselines import Baselines, baselines_of
from seedwise.search.decide.policy import Policy, options_of, policy_of
from seedwise.search.decide.proposal import SAMPLERS, Proposer
from seedwise.search.ranking.estimator import Standing
from seedwise.search.ranking.selection import AGGREGATES, Selection
from seedwise.search.spec.landscape_defaults import normalised
from seedwise.search.spec.validate import check
from seedwise.spaces import Space, load
from seedwise.suggest import nearest
from seedwise.trainables.inputs.paths import read_text
from seedwise.trainables.landscape.jobs import PARTS
from seedwise.trainables.streams import STREAMS
from seedwise.trainables.training.options import check_type

BUILT_IN = Path(__file__).with_name("builtin")
METHODS = ("stitching", "dcca", "ear")
TASKS = ("sib200", "taxi1500", "amazon", "xnli", "pawsx", "text")


def _without_password(text: str) -> str:
    """A text that may be written down."""
    if has_password(text):
        raise ValueError("it has a password, which would be written down; leave it out, and set it in the environment")
    return text


def _address(uri: str) -> str:
    """An address that is shown and kept without its password, and can be."""
    check_address("tracking.uri", uri)
    return uri


Text = Annotated[str, Field(min_length=1), AfterValidator(_without_password)]
Language = Annotated[str, Field(pattern=r"^\w[\w.-]{0,59}$")]  # a folder of an exported model has its name
Count = Annotated[int, Field(ge=1)]
Minutes = Annotated[float, Field(gt=0, allow_inf_nan=False)]


Splitting = Literal["unicode", "whitespace", "jieba"]


def _named(value: Any) -> Any:
    """A list of names is a mapping without overrides."""
    return {name: {} for name in value} if isinstance(value, list) and all(isinstance(n, str) for n in value) else value


Named = Annotated[dict[str, dict[str, Any]], BeforeValidator(_named)]


Files = Text | dict[str, Text]


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Custom(Model):
    """A method of one's own: a trainable class and a space function by import path, `package.module:name`."""

    trainable: Text
    space: Text


class Task(Model):
    """Labelled data. `source` has labels, `targets` are audited.

    `data` is a folder in the task's published layout, a pattern of files with {language} and {split}, a hub id, or a
    folder in the hub's format. `pivots` are languages whose labelled dev sets may select (select.on: pivot_dev) and
    that are never reported on.
    """

    name: Literal[TASKS]
    data: Text
    source: Language
    targets: list[Language]
    pivots: list[Language] = []
    text: Text | None = None  # the columns; None: as published, and `text` and `label` of the task named text
    second: Text | None = None  # the column of the second sentence: xnli and pawsx are pairs, text is with this key
    label: Text | None = None
    labels: list[str | int] | None = None  # the classes in order; None: as published, or those of source training
    config: Text = "{language}"  # which configuration of a hub data set a language is
    splits: dict[Literal["train", "dev", "test"], Text] = {}  # other names of theirs; the hub's dev is validation


class Inputs(Model):
    """What a method reads besides the task; vectors and the like by target language.

    Where all languages have files of one kind, `FILES` is one by each, or a path with {language} in it.
    """

    vectors: dict[str, Text] = {}
    lexicons: dict[str, Text] = {}
    subwords: dict[str, Text] = {}  # fastText binary models for unknown: subword; default: the vectors themselves
    stop_words: dict[str, Text] = {}  # lists, one word a line, for space: {stop_words: drop}
    quality: float | None = None  # lexicon entries below this quality (their third column) are left out
    synonyms: Text | None = None  # of the source language, for ear: JSON as published, or lines of word, tab, synonyms
    text: Files = {}  # of all languages, for dcca: unlabelled, one sentence a line
    text_blocks: Count = 20_000  # of max_length tokens, drawn from all text of a language: more is more text and memory
    static: dict[str, Files] = {}  # sets of static vectors of all languages, by a name of one's own, for dcca
    # How the static vectors of the targets come into the source's space, by `lexicons`; off: they are in it.
    align: Literal["off", "orthogonal", "supervised", "aaai2018"] = "off"
    probes: dict[str, Text] = {}  # lexica of the targets that dcca's encoders are scored by, and nothing is learnt from
    parallel: dict[str, tuple[Text, Text]] = {}  # by target: a file of its sentences, and the source's, line by line
    score_layer: Count | None = None  # whose states words and sentences are scored by, from 1; None: the last
    multilingual: Text | None = None  # the encoder of the zero_shot baseline: a hub id or a folder
    splitting: Splitting | dict[str, Splitting] = "unicode"  # how target text becomes words, for all or by language
    vector_rows: Count = 200_000  # rows read from the top of a vector file; files are sorted by frequency
    max_length: Annotated[int, Field(ge=3)] = 128  # longest input in tokens, special ones included; longer ones are cut
    # A word without a vector: [UNK]; or that of its lower case, where it has a first capital or capitals only, else
    # [UNK]; or, failing both, one made of its n-grams.
    unknown: Literal["lowercase", "unk", "subword"] = "lowercase"


class Budget(Model):
    """Where the search ends, at whichever comes first.

    The runs of the confirmation are part of `runs`; `hours` are those of the search phase, confirmation comes after.
    """

    runs: Count | None = None
    hours: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None


class Confirm(Model):
    """The last phase: the `top` configurations at `fresh` seeds that no decision has seen, and the test sets."""

    top: Annotated[int, Field(ge=0)] = 3
    fresh: Count = 5


class Replicates(Model):
    """Who gets how many seeds: a policy by name (race, fixed, halving) or import path, with options of its own."""

    model_config = ConfigDict(extra="allow", frozen=True)

    policy: Text = "race"
    confirm: Confirm = Confirm()

    def resolved(self) -> dict:
        """Plain data with every option of the policy, checked."""
        known, given = options_of(self.policy), self.model_extra or {}
        for name in given:
            if name not in known:
                kind = f"the policy {self.policy} has no such option"
                raise RequestError(f"replicates.{name}: {kind}.{nearest(name, [*known, 'policy', 'confirm'])}")
        options = {name: given.get(name, default) for name, (_, default) in known.items()}
        for name, (hint, _) in known.items():
            try:
                check_type(name, options[name], hint)
            except ValueError as error:
                raise RequestError(f"replicates.{error}.") from None
        return {"policy": self.policy, **options, "confirm": self.confirm.model_dump()}


class Second(Model):
    """A second objective, for a Pareto front: `seconds` per run, `spread` over seeds, or a reported metric by name."""

    by: Text
    goal: Literal["min", "max"] = "min"


class Select(Model):
    """What ranks. `on: target_dev` uses target labels: an oracle, and labelled so wherever it is shown.

    `on: unlabelled` is the mean over the source and the targets of a metric that needs no labels and no translations
    (dcca has correlation and mlm_probability).

    `on: metric` ranks by the reported metric of exactly that name, for methods without a task. `second` does not rank:
    it marks the configurations that nobody beats in both.
    """

    metric: Text = "macro_f1"
    on: Literal["source_dev", "pivot_dev", "target_dev", "unlabelled", "metric"] = "source_dev"
    aggregate: Literal[tuple(AGGREGATES)] = "mean"
    second: Second | None = None


class Resources(Model):
    """What one run occupies, and when it has taken too long. `auto` measures one run of the largest configuration.

    `gpus_per_run: auto` is the share of a GPU that its memory allows, none where there is no GPU; fractions share one.
    `cpus_per_run: auto` is one CPU, and more where a node has memory for fewer runs than CPUs.
    """

    gpus_per_run: Literal["auto"] | Annotated[float, Field(ge=0)] = "auto"
    cpus_per_run: Literal["auto"] | Count = 1
    minutes_per_run: Minutes | None = None  # a run that takes longer is ended and counts as failed; None: no limit
    silent_minutes: Minutes = 10.0  # a worker without a sign of life for so long is replaced, its run goes on


class Tracking(Model):
    """Where MLflow lives: a database next to the searches, or a server. `off` for none.

    `artifacts` is where files go (a folder, s3://..., gs://...), for an experiment that is not there yet; without it,
    next to a sqlite database, or where the server puts them.
    """

    uri: Annotated[str, Field(min_length=1), AfterValidator(_address)] = "sqlite:///runs/mlflow.db"
    artifacts: Text | None = None


class Checkpoints(Model):
    """A run that is longer than `seconds` saves its state that often, and goes on from there after a kill.

    `at` is a folder or an address (s3://..., gs://...) that all nodes see; without it, states go through Ray to the
    search folder. `grace` is how many seconds a search that is told to stop waits for its runs to save their states.
    """

    seconds: Annotated[float, Field(ge=0)] = 60.0
    at: Text | None = None
    grace: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 20.0


class Plane(Model):
    """The plane through the three models, 441 points: of how many replicates, and for which parts of the model."""

    replicates: Annotated[int, Field(ge=0)] = 1
    parts: Annotated[list[Literal[PARTS]], Field(min_length=1)] = ["all"]


class Landscape(Model):
    """Interpolation between models of one configuration, instead of a search; see docs/landscape.md."""

    replicates: Count = 3  # of every model; bands and spreads are over these
    equal: Literal["updates", "epochs"] = "updates"  # what the three models have in common; the paper has epochs
    labels: bool = True  # whether training sets of the targets are read; without, seeds are compared with each other
    parts: Annotated[list[Literal[PARTS]], Field(min_length=1)] = list(PARTS)  # what lines move: all, encoder, head
    plane: Plane = Plane()
    directions: Annotated[int, Field(ge=0)] = 2  # random ones around every model; 0: none
    baseline: Text | None = None  # of ear: plain, rs_da, rs_rp or adv in its place, with the same training options
    origin: Text | None = None  # the search folder that the configuration came from, whose report shows it too


class Specification(Model):
    """One search, resolved: the file, the built-in defaults and the overrides of the command line."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,149}$")]
    method: Literal[METHODS] | Custom
    model: Text | None = None
    # What the paper says, or what its released code does, where we would decide otherwise.
    compat: Literal["fixed", "paper", "reference"] = "fixed"
    task: Task | None = None
    inputs: Inputs = Inputs()
    space: str | dict[str, Any] = "default"
    baselines: Named = {}  # by name, with overrides of their own small spaces
    enqueue: list[dict[str, Any]] | None = None  # configurations that go first; None: those that the space names
    sampler: Literal[SAMPLERS] = "tpe"
    budget: Budget
    replicates: Replicates = Replicates()
    prune: Literal["off", "asha", "median"] = "off"  # end the first run of a configuration early where it is poor
    select: Select = Select()
    resources: Resources = Resources()
    checkpoints: Checkpoints = Checkpoints()
    tracking: Tracking = Tracking()
    seed: Annotated[int, Field(ge=0)] = 0
    decompose: list[Literal[STREAMS]] = []  # vary one stream at a time; for reruns of one configuration
    landscape: Landscape | None = None  # not a search, but what lies between models of the one enqueued configuration

    def as_dict(self) -> dict:
        """Plain data, as it stands in search.yaml and in the ledger."""
        return self.model_dump(mode="json") | {"replicates": self.replicates.resolved()}

    def load_space(self) -> Space:
        method = self.method if isinstance(self.method, str) else self.method.model_dump()
        return load(method, self.space, self.compat)

    def baseline_runs(self, standing: Standing) -> Baselines | None:
        return baselines_of(self.as_dict(), self.policy(standing))

    def selection(self) -> Selection:
        return Selection.of(self.as_dict())

    def standing(self) -> Standing:
        return standing_of(self.as_dict())

    def policy(self, standing: Standing) -> Policy:
        return policy_of(self.as_dict(), standing)

    def proposer(self, standing: Standing) -> Proposer:
        space = self.load_space()
        first = space.first() if self.enqueue is None and self.sampler != "grid" else self.enqueue or []
        varying = (None, *self.decompose) if self.decompose else ()
        expected = self.policy(standing).configurations()
        return Proposer(space, self.sampler, self.seed, standing, tuple(first), expected, varying)


def standing_of(resolved: dict) -> Standing:
    """How configurations are estimated: towards a surrogate over the space where the policy wants one."""
    surrogate = resolved["replicates"].get("surrogate", False)
    return Standing(Selection.of(resolved), space_of(resolved) if surrogate else None)


def space_of(resolved: dict) -> Space:
    """The space that a resolved specification names."""
    return load(resolved["method"], resolved["space"], resolved["compat"])


def read(source: str, overrides: list[str] = (), *, elsewhere: bool = False) -> Specification:
    """Read a YAML file or a built-in name, apply `key.sub=value` overrides, check everything that can be checked.

    Paths in a file are relative to the current folder; `world:NAME` is a file of the embedded world. `elsewhere`: the
    search will run on another machine, where absolute paths are looked up; what is wrong with those is left to it.
    """
    content = content_of(source)
    set_all(content, overrides)
    return from_dict(content, elsewhere=elsewhere)


def content_of(source: str) -> dict:
    """What a YAML file, or a built-in specification, says: plain data that nobody has checked."""
    path = Path(source)
    if not path.is_file():
        path = BUILT_IN / f"{source}.yaml"
    if not path.is_file():
        known = sorted(entry.stem for entry in BUILT_IN.glob("*.yaml"))
        raise RequestError(f"{source}: no such file, and no built-in specification.{nearest(source, known)}")
    return parsed(read_text(path, "specification"), str(source))


def from_text(text: str, overrides: list[str] = ()) -> Specification:
    """A checked specification from YAML."""
    content = parsed(text, "specification")
    set_all(content, overrides)
    return from_dict(content)


def parsed(text: str, where: str) -> dict:
    """YAML as plain data; `where` begins an error."""
    try:
        content = yaml12.load(text)
    except yaml12.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" line {mark.line + 1}" if mark else ""
        raise RequestError(f"{where}{line}: not YAML: {getattr(error, 'problem', error)}.") from error
    if not isinstance(content, dict):
        raise RequestError(f"{where}: a specification is a mapping of keys to values, this is {mask(repr(content))}.")
    return content


def from_dict(content: dict, *, elsewhere: bool = False) -> Specification:
    """A checked specification from plain data; `elsewhere` as of `read`."""
    if isinstance(content.get("landscape"), dict):
        content = normalised(content)
    try:
        specification = Specification.model_validate(content)
    except ValidationError as error:
        raise RequestError(_in_one_line(error, content)) from error
    try:
        check(specification)
    except RequestError as error:
        if not (elsewhere and any(place in str(error) for place in _absolute(content))):
            raise
    return specification


def _absolute(content: Any) -> list[str]:
    """The absolute paths in a specification; of a pattern with {language}, the folder before it."""
    if isinstance(content, dict | list):
        parts = content.values() if isinstance(content, dict) else content
        return [path for part in parts for path in _absolute(part)]
    if not isinstance(content, str) or not content.startswith(("/", "~")):
        return []
    return [content.partition("{")[0].rpartition("/")[0] if "{" in content else content]


def set_all(content: dict, overrides: Iterable[str]) -> None:
    """Apply `key.sub=value` overrides to plain data, in their order."""
    for override in overrides:
        _set(content, override)


def _set(content: dict, override: str) -> None:
    """Apply one `key.sub=value`; the value is YAML, so numbers, lists and mappings are written as in a file."""
    key, equals, value = override.partition("=")
    told = f"--set {override}"
    if has_password(override):
        told = f"--set {key.partition(':')[0]}{equals}{HIDDEN}"
    if not equals or not key:
        raise RequestError(f"{told}: write key=value, for example --set budget.runs=20.")
    try:
        parsed = yaml12.load(value)
    except yaml12.YAMLError as error:
        raise RequestError(f"{told}: the value is not YAML ({getattr(error, 'problem', error)}).") from error
    *parents, last = key.split(".")
    place = content
    for parent in parents:
        place[parent] = _mapping(place.get(parent), parent, told)
        place = place[parent]
    place[last] = parsed


def _mapping(value: Any, name: str, told: str) -> dict:
    """What a key holds, as a mapping that another key can be set in; `told` begins an error."""
    if name == "space" and isinstance(value, str):
        return {"base": value}
    value = _named(value) if name == "baselines" else value
    if value is not None and not isinstance(value, dict):
        raise RequestError(f"{told}: {name} is {mask(repr(value))} there, which has no keys. Set {name} as a whole.")
    return value or {}


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
    location = [part for part in location if part not in ("float", "int", "str", "[key]")]
    location = [part for part in location if not str(part).startswith("dict[")]
    key = ".".join(map(str, location))
    if problem["type"] == "extra_forbidden":
        known = _fields(location[:-1])
        return f"{key}: there is no such key.{nearest(location[-1], known)}"
    if problem["type"] == "missing":
        return f"{key}: this key is missing. Add it{_example(key)}."
    given = problem["input"]
    given = HIDDEN if isinstance(given, str) and has_password(given) else mask(repr(given))
    said = problem["msg"].removeprefix("Value error, ")
    return f"{key}: {given} is wrong: {said[0].lower()}{said[1:]}."


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
