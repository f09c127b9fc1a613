"""The interface of a method: a run is a plain object that knows nothing about the search that runs it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from seedwise.trainables.earlier_versions import adapt
from seedwise.trainables.request import Request
from seedwise.trainables.streams import STREAMS, Streams


class RunFailed(Exception):
    """A run failed in a known way and has no score. `kind` says how, for example `nan`; its last `metrics` are kept.

    A model that predicts a single class has not failed: report its scores. A method that raises the kind `collapsed`
    with metrics ends its run early, and these metrics become the run's scores.
    """

    def __init__(self, kind: str, text: str, metrics: dict[str, float] | None = None):
        super().__init__(text)
        self.kind = kind
        self.metrics = metrics or {}


@dataclass(frozen=True)
class Candidates:
    """Every configuration that a search can run, so that inputs are read and checked for all configurations at once.

    Configurations are grouped by their key in the specification: `space`, `baselines.NAME`, `enqueue.0`. A range has
    too many values to list, so it is represented by a sample that includes both ends.
    """

    configurations: Mapping[str, Sequence[dict]]

    def values(self, name: str) -> set:
        """The values of a parameter in the space, from the configurations that have this parameter."""
        return {params[name] for params in self.configurations["space"] if name in params}

    @property
    def enqueued(self) -> dict[str, dict]:
        """The configurations that the user listed below `enqueue`, by key."""
        return {key: params for key, (params, *_) in self.configurations.items() if key.startswith("enqueue.")}


class Method:
    """One run of a method, as a plain object. Subclass it to write your own method.

    A method knows nothing about Ray, MLflow, Optuna or the ledger. It gets prepared inputs, the parameters of its
    configuration and the random streams of its replicate, and answers each `step()` with metrics. All its randomness
    must come from the streams; then the same specification gives the same scores, bit for bit.
    """

    steps: int = 1  # how many times `step` is called
    independent: bool = False  # no step needs another: an interrupted run resumes after its last reported step
    baselines: ClassVar[dict[str, type["Method"]]] = {}  # by name; baselines get the method's inputs

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        adapt(cls)

    @classmethod
    def prepare(cls, request: Request, candidates: Candidates) -> Any:
        """Read and tokenise the data once per search, on the driver. Every worker gets the result. Default: None.

        A method that does not need `candidates` may leave the argument out.
        """
        return None

    @classmethod
    def prepare_test(cls, request: Request) -> Any:
        """Read the test sets on the driver, once the search has chosen what to confirm. Default: None, no test sets.

        `prepare` must not read test sets: only confirmation runs get the result of `prepare_test`.
        """
        return None

    @classmethod
    def size(cls, params: dict) -> float:
        """The memory that a run with these parameters needs, relative to other runs; the largest run is measured.

        Default: `batch_size`, or 0 without one; halved if activations are recomputed.
        """
        return params.get("batch_size", 0) * (0.5 if params.get("gradient_checkpointing") else 1.0)

    @classmethod
    def streams_used(cls, params: dict) -> tuple[str, ...]:
        """The random streams that a run with these parameters uses; a decomposition varies them. Default: all.

        Listing an unused stream wastes runs that all give the same score; omitting a used stream hides its variance.
        """
        return STREAMS

    @classmethod
    def class_for(cls, params: dict) -> type["Method"]:
        """The class that runs these parameters: the baseline they name, else the method. Removes the name from them."""
        return cls.baselines[params.pop("baseline")] if "baseline" in params else cls

    def __init__(self, inputs: Any, params: dict, streams: Streams, device: Any):
        self.inputs, self.params, self.streams, self.device = inputs, params, streams, device

    def step(self, number: int) -> dict[str, float]:
        """Do step `number` (from 0), for example an epoch. Returns metrics `split/metric/language` of all languages."""
        raise NotImplementedError

    def test(self, tests: Any) -> dict[str, float]:
        """Return metrics `test/metric/language` of the trained model on the result of `prepare_test`. Default: none.

        Called once, after the last step of a confirmation run; never if `prepare_test` returned None.
        """
        return {}

    def constants(self) -> dict[str, float]:
        """Return metrics that are known before training; they are reported with the last step. Default: none."""
        return {}

    def pictures(self) -> list[dict]:
        """Return pictures of this run as plain data in the shape of `pictures.Picture`. Default: none.

        Called once, after the last step and after `test`, and only in the first fresh replicate of each confirmed
        configuration. An error here loses the pictures but keeps the run's scores, and the time taken does not count as
        the run's. `save` must store the data that pictures need from earlier steps. A run that reuses the results of an
        equal run has no model and draws nothing.
        """
        return []

    def product(self) -> dict[str, Any] | None:
        """Return named arrays that other runs of a landscape's plan start from; its folder keeps them. Default: none.

        Called once, after the last step of a run that has not failed.
        """
        return None

    def receive(self, products: list[dict[str, Any]]) -> None:
        """Receive the products of other runs, in the order of the plan. Called before the first step."""

    def fingerprint(self, tests: Any) -> str | None:
        """Return a text that is equal only for runs with equal metrics (`constants` aside): one of them is trained.

        `tests` is the result of `prepare_test` for runs that are tested, else None. Default: None, all are trained.

        TRAINING/SCORING is a fingerprint of two parts: runs that agree in the first train the same model and score it
        in different ways. Only one of them is trained, if it has `metrics_of_siblings` for the others.
        """
        return None

    def metrics_of_siblings(self) -> dict[str, dict[str, float]]:
        """By fingerprint, what runs report that train the same model as this one and score it differently.

        These are the metrics of the last step (and of `test` after it), `constants` apart. Default: there are none.
        """
        return {}

    def export(self, request: Request, folder: Path) -> list[Path]:
        """Write the trained model in the formats that users load, and return the folders. Default: writes nothing."""
        return []

    def save(self, folder: Path) -> None:
        """Write what `load` needs to resume after the last finished step. Optional: without it a run starts over."""

    def load(self, folder: Path) -> None:
        """Resume from the files that `save` wrote."""
