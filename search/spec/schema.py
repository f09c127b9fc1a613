"""The keys of a specification, as typed models: their defaults, and what each value means."""

from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, create_model

from seedwise.credentials import check_address
from seedwise.search.decide.policy import options_of
from seedwise.search.decide.proposal import REMOVED, SAMPLERS
from seedwise.search.ranking.selection import AGGREGATES
from seedwise.search.spec.landscape import SEARCH_KEYS
from seedwise.search.spec.parts import Parts
from seedwise.trainables.landscape.jobs import PARTS
from seedwise.trainables.methods import METHODS
from seedwise.trainables.request import Inputs, Model, Task, Text
from seedwise.trainables.spec import Count
from seedwise.trainables.streams import STREAMS
from seedwise.trainables.training.options import STRICT
from seedwise.validation import request_errors


def _address(uri: str) -> str:
    """An address that is shown and kept without its password, and can be."""
    check_address("tracking.uri", uri)
    return uri


Minutes = Annotated[float, Field(gt=0, allow_inf_nan=False)]


def named(value: Any) -> Any:
    """A list of names is a mapping without overrides."""
    return {name: {} for name in value} if isinstance(value, list) and all(isinstance(n, str) for n in value) else value


Named = Annotated[dict[str, dict[str, Any]], BeforeValidator(named)]


class Custom(Model):
    """A method of one's own: a trainable class and a space function by import path, `package.module:name`."""

    trainable: Text
    space: Text


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
        options = {name: default for name, (_, default) in known.items()} | given
        model = create_model(self.policy, __config__=STRICT | {"arbitrary_types_allowed": True}, **known)
        with request_errors("replicates.", model):
            model(**options)
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
    heartbeat_timeout_minutes: Minutes = 10.0  # a worker without a heartbeat for so long is replaced; its run goes on


class Tracking(Model):
    """Where MLflow lives: a database next to the searches, or a server. `off` for none.

    `artifacts` is where files go (a folder, s3://..., gs://...), for an experiment that is not there yet; without it,
    next to a sqlite database, or where the server puts them.
    """

    uri: Annotated[str, Field(min_length=1), AfterValidator(_address)] = "sqlite:///runs/mlflow.db"
    artifacts: Text | None = None


class Checkpoints(Model):
    """A run that is longer than `seconds` saves its state that often, and goes on from there after a kill.

    `path` is a folder or an address (s3://..., gs://...) that all nodes see; without it, states go through Ray to the
    search folder. `grace` is how many seconds a search that is told to stop waits for its runs to save their states.
    """

    seconds: Annotated[float, Field(ge=0)] = 60.0
    path: Text | None = None
    grace: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 20.0


class Plane(Model):
    """The plane through the three models, 441 points: of how many replicates, and for which parts of the model."""

    replicates: Annotated[int, Field(ge=0)] = 1
    parts: Annotated[list[Literal[PARTS]], Field(min_length=1)] = Field(default_factory=lambda: ["all"])


class Landscape(Model):
    """Interpolation between models of one configuration, instead of a search; see docs/landscape.md."""

    replicates: Count = 3  # of every model; bands and spreads are over these
    match: Literal["updates", "epochs"] = "updates"  # what the three models have in common; the paper has epochs
    labels: bool = True  # whether training sets of the targets are read; without, seeds are compared with each other
    # What lines move: all, encoder, head.
    parts: Annotated[list[Literal[PARTS]], Field(min_length=1)] = Field(default_factory=lambda: list(PARTS))
    plane: Plane = Plane()
    directions: Annotated[int, Field(ge=0)] = 2  # random ones around every model; 0: none
    baseline: Text | None = None  # of ear: plain, rs_da, rs_rp or adv in its place, with the same training options
    origin: Text | None = None  # the search folder that the configuration came from, whose report shows it too


class Specification(Model):
    """One search, resolved: the file, the built-in defaults and the overrides of the command line."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,149}$")]
    method: Literal[tuple(METHODS)] | Custom
    model: Text | None = None
    # What the paper says, or what its released code does, where we would decide otherwise. Each method has its own.
    compat: Text = "ours"
    task: Task | None = None
    inputs: Inputs = Inputs()
    space: str | dict[str, Any] = "default"
    baselines: Named = Field(default_factory=dict)  # by name, with overrides of their own small spaces
    enqueue: list[dict[str, Any]] | None = None  # configurations that go first; None: those that the space names
    sampler: Literal[SAMPLERS] | Literal[REMOVED] = "tpe"
    budget: Budget = Budget()
    replicates: Replicates = Replicates()
    prune: Literal["off", "asha", "median"] = "off"  # end the first run of a configuration early where it is poor
    select: Select = Select()
    resources: Resources = Resources()
    checkpoints: Checkpoints = Checkpoints()
    tracking: Tracking = Tracking()
    seed: Annotated[int, Field(ge=0)] = 0
    # Vary one stream at a time; for reruns of one configuration.
    decompose: list[Literal[STREAMS]] = Field(default_factory=list)
    landscape: Landscape | None = None  # not a search, but what lies between models of the one enqueued configuration

    def as_dict(self) -> dict:
        """Plain data, as it stands in search.yaml and in the ledger."""
        if self.landscape:
            return self.model_dump(mode="json", exclude=set(SEARCH_KEYS))
        return self.model_dump(mode="json") | {"replicates": self.replicates.resolved()}

    @cached_property
    def parts(self) -> Parts:
        """What the search is made of: its space, its policy and the like, each made once."""
        return Parts(self)
