"""The keys of a specification, as typed models. The text below a key is its documentation in docs/specification.md."""

from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, create_model
from pydantic.json_schema import SkipJsonSchema

from seedwise.credentials import check_address
from seedwise.search.decide.policy import options_of
from seedwise.search.decide.samplers import REMOVED, SAMPLERS
from seedwise.search.ranking.selection import AGGREGATES
from seedwise.search.spec.landscape import SEARCH_KEYS
from seedwise.search.spec.parts import Parts
from seedwise.spaces.baselines import Lengths
from seedwise.trainables.landscape.jobs import PARTS
from seedwise.trainables.methods import METHODS
from seedwise.trainables.request import Inputs, Model, Task, Text
from seedwise.trainables.spec import Count
from seedwise.trainables.streams import STREAMS
from seedwise.trainables.tasks.classification import METRICS
from seedwise.trainables.training.options import STRICT
from seedwise.validation import request_errors

NotNegative = Annotated[int, Field(ge=0)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
ModelParts = Annotated[list[Literal[PARTS]], Field(min_length=1)]


def _address(uri: str) -> str:
    """Check that the password of an address can be masked when the address is shown or saved."""
    check_address("tracking.uri", uri)
    return uri


def named(value: Any) -> Any:
    """A list of names is a mapping without overrides."""
    return {name: {} for name in value} if isinstance(value, list) and all(isinstance(n, str) for n in value) else value


class Custom(Model):
    """A method of your own, see docs/extending.md."""

    trainable: Text
    """The import path of its class, `package.module:name`."""
    space: Text
    """The import path of its space function."""


class Budget(Model):
    """The search phase ends when the first of these limits is reached."""

    runs: Count | None = None
    """How many runs the whole search has, confirmation included."""
    hours: Positive | None = None
    """How many hours the search phase may take; the confirmation comes after it."""


class Confirm(Model):
    """The last phase, with seeds that no decision has seen. Only this phase reads the test sets."""

    top: NotNegative = 3
    """How many of the best configurations run again; 0: no confirmation."""
    fresh: Count = 5
    """How many fresh seeds each of them gets."""


class Replicates(Model):
    """How many seeds a configuration gets, see docs/decisions.md. Options of the policy are keys of this section."""

    model_config = ConfigDict(extra="allow", frozen=True)

    policy: Text = "race"
    """`race`, `fixed`, `halving`, or the import path of a policy of your own (docs/extending.md)."""
    confirm: Confirm = Confirm()

    def resolved(self) -> dict:
        """Plain data with every option of the policy, checked."""
        known, given = options_of(self.policy), self.model_extra or {}
        options = {name: default for name, (_, default) in known.items()} | given
        model = create_model(self.policy, __config__=STRICT | {"arbitrary_types_allowed": True}, **known)
        with request_errors("replicates.", model):
            model(**options)
        return {"policy": self.policy, **options, "confirm": self.confirm.model_dump()}


class Second(Model):
    """A second objective. It marks configurations that no other beats in both (Pareto front), but does not rank."""

    by: Text
    """`seconds` per run, `spread` over seeds, or the full name of a reported metric."""
    goal: Literal["min", "max"] = "min"


class Select(Model):
    """The score that ranks configurations."""

    metric: Text = METRICS[0]
    """A metric that the method reports, see the table below. The page of a method says what its own metrics need."""
    on: Literal["source_dev", "pivot_dev", "target_dev", "unlabelled", "metric"] = "source_dev"
    """The data that the metric is measured on: dev sets of the source, of `task.pivots`, or of the targets (an oracle,
    and marked as such). `unlabelled`: the mean over the source and the targets of a metric that needs no labels and no
    translations. `metric`: the reported metric of exactly that name, for methods without a task."""
    aggregate: Literal[tuple(AGGREGATES)] = "mean"
    """How the scores of several languages become one score."""
    second: Second | None = None


class Resources(Model):
    """The devices that one run occupies, and its time limits, see docs/reliability.md#what-a-run-occupies."""

    gpus_per_run: Literal["auto"] | Annotated[float, Field(ge=0)] = "auto"
    """A fraction lets several runs share a GPU. `auto` measures a run of the largest configuration and takes the share
    of a GPU that its memory needs; 0 if there is no GPU."""
    cpus_per_run: Literal["auto"] | Count = 1
    """`auto` is 1, or more if the GPUs or the memory of a node allow fewer runs than it has CPUs."""
    minutes_per_run: Positive | None = None
    """A run that takes longer is ended and counts as failed; none: no limit."""
    heartbeat_timeout_minutes: Positive = 10.0
    """A worker that sends no heartbeat for this long is replaced; its run continues."""


class Tracking(Model):
    """How results are written to MLflow, see docs/mlflow.md."""

    uri: Annotated[str, Field(min_length=1), AfterValidator(_address)] = "sqlite:///runs/mlflow.db"
    """A database or a server; `off`: no MLflow."""
    artifacts: Text | None = None
    """Where files go (a folder, `s3://...`, `gs://...`), if the experiment is new; none: beside a sqlite database, or
    where the server puts them."""


class Checkpoints(Model):
    """Saved states of long runs, from which they continue after an interruption; see docs/reliability.md."""

    seconds: Annotated[float, Field(ge=0)] = 60.0
    """Seconds between two saved states: an interruption loses at most this much work and one epoch."""
    path: Text | None = None
    """A folder or an address (`s3://...`, `gs://...`) that all nodes see; none: states go through Ray to the search
    folder."""
    grace: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 20.0
    """Seconds that an interrupted search waits for its runs to save their states."""


class Plane(Model):
    """The plane through the three models, 441 points."""

    replicates: NotNegative = 1
    """How many replicates get a plane."""
    parts: ModelParts = Field(default_factory=lambda: ["all"])
    """Which parts of the model move."""


class Landscape(Model):
    """Not a search: interpolation between models of the first configuration in `enqueue`, see docs/landscape.md."""

    replicates: Count = 3
    """How many replicates of every model are trained; bands and spreads are over these. Replicate 0, 1, 2, ... has the
    random streams that it has in a search. Option: `--replicates`."""
    match: Literal["updates", "epochs"] = "updates"
    """What is equal for the models of source, target and both. `updates`: all get as many updates as the source model,
    so the model of both languages sees each example half as often. `epochs`: all see their data equally often, as in
    the paper, so the model of both languages gets about twice the updates. Option: `--match`."""
    labels: bool = True
    """Whether training sets of the targets are read; if not, seeds are compared with each other. Option: `--seeds-only`
    for false."""
    parts: ModelParts = Field(default_factory=lambda: list(PARTS))
    """Which parts of the model move along a line: `all`, only the `encoder` (loaded from the checkpoint), or only the
    `head` (initialized at random for the task)."""
    plane: Plane = Plane()
    directions: NotNegative = 2
    """Random directions around every model; 0: none."""
    baseline: Text | None = None
    """A baseline instead of the method, with the same training options; see docs/landscape.md. Option: `--baseline`."""
    origin: Text | None = None
    """The search folder that the configuration came from; its report shows the landscape too."""


class Specification(Model):
    """One search, resolved: the file, the built-in defaults and the overrides of the command line."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,149}$", examples=["my-search"])]
    """The name of the search folder, `runs/NAME`, and of the experiment in MLflow."""
    method: Literal[tuple(METHODS)] | Custom = Field(examples=list(METHODS))
    """A built-in method, or a method of your own."""
    model: Text | None = None
    """The encoder: a hub id or a folder. Required by the built-in methods."""
    compat: Text = "ours"
    """`paper` fixes parameters to the paper's choices where ours differ, `reference` to those of the released code, if
    the method has any; `ours` fixes nothing."""
    task: Task | None = None
    """Labelled data. Required by the built-in methods."""
    inputs: Inputs = Inputs()
    space: str | dict[str, Any] = "default"
    """The search space: `default`, `paper` (the grids of the paper), or overrides of single parameters. A value fixes
    a parameter, `[low, high]` narrows a range, longer lists or `{choices: [...]}` are values, `{low, high, log, step}`
    replaces the range. `base: paper` among the overrides starts from the paper's space."""
    baselines: Annotated[dict[str, dict[str, Any]], BeforeValidator(named)] = Field(default_factory=dict)
    """Other ways to use the same data, on the same replicates, shown and never ranked: a list of names, or names with
    overrides of their small spaces."""
    baseline_lengths: Lengths = "grid"
    """For how many epochs or steps baselines are trained: `grid` tries up to three numbers, from the method's fewest to
    those that cost as much as its most expensive run; `longest` tries the last alone. Where the options of a method
    count encoder passes, these are the cost."""
    enqueue: list[dict[str, Any]] | None = None
    """Configurations that go first, such as `[{k: 1}]`; none: the first configurations of the space, such as degenerate
    points and the paper's setting."""
    sampler: Literal[tuple(SAMPLERS)] | SkipJsonSchema[Literal[REMOVED]] = "tpe"
    """The sampler that proposes configurations."""
    budget: Budget = Budget()
    """Runs, hours, or both are required."""
    replicates: Replicates = Replicates()
    prune: Literal["off", "asha", "median"] = "off"
    """End the first run of a configuration early if it is poor."""
    select: Select = Select()
    resources: Resources = Resources()
    checkpoints: Checkpoints = Checkpoints()
    tracking: Tracking = Tracking()
    seed: NotNegative = 0
    """All seeds of the search are derived from this number."""
    decompose: list[Literal[STREAMS]] = Field(default_factory=list)
    """Vary one stream of randomness at a time; for reruns of one configuration (`run FILE --decompose`)."""
    landscape: Landscape | None = None

    def as_dict(self) -> dict:
        """Plain data, as in search.yaml and in the ledger."""
        if self.landscape:
            return self.model_dump(mode="json", exclude=set(SEARCH_KEYS))
        return self.model_dump(mode="json") | {"replicates": self.replicates.resolved()}

    @cached_property
    def parts(self) -> Parts:
        """The parts of the search, such as its space and its policy, each created once."""
        return Parts(self)
