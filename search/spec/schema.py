"""The keys of a specification, as typed models: their defaults, and what each value means."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from seedwise.credentials import check_address, has_password
from seedwise.errors import RequestError
from seedwise.search.decide.baselines import Baselines, baselines_of
from seedwise.search.decide.policy import Policy, options_of, policy_of
from seedwise.search.decide.proposal import SAMPLERS, Proposer
from seedwise.search.ranking.estimator import Standing
from seedwise.search.ranking.selection import AGGREGATES, Selection
from seedwise.spaces import Space, load
from seedwise.suggest import nearest
from seedwise.trainables.landscape.jobs import PARTS
from seedwise.trainables.streams import STREAMS
from seedwise.trainables.training.options import check_type

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


def named(value: Any) -> Any:
    """A list of names is a mapping without overrides."""
    return {name: {} for name in value} if isinstance(value, list) and all(isinstance(n, str) for n in value) else value


Named = Annotated[dict[str, dict[str, Any]], BeforeValidator(named)]


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
