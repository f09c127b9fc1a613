"""The contract of a method: a run is a plain object that knows nothing about what runs it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from seedwise.trainables.earlier_versions import adapt
from seedwise.trainables.request import Request
from seedwise.trainables.streams import STREAMS, Streams


class RunFailed(Exception):
    """A run that ended badly in a known way, without a score: `kind` is nan, say. Its last `metrics` are kept.

    A model that predicts a single class is no failure: report its scores. A method that raises `collapsed` with metrics
    ends its run there, and these are the run's scores.
    """

    def __init__(self, kind: str, text: str, metrics: dict[str, float] | None = None):
        super().__init__(text)
        self.kind = kind
        self.metrics = metrics or {}


@dataclass(frozen=True)
class Candidates:
    """Every configuration that a search can run, so that inputs are read and checked for all of them at once.

    They are grouped by the key of the specification that they come from: `space`, `baselines.NAME`, `enqueue.0`. For a
    range, which has endless values, there is a sample with both ends.
    """

    configurations: Mapping[str, Sequence[dict]]

    def values(self, name: str) -> set:
        """The values of a parameter in the configurations of the space; those that do not have it are left out."""
        return {params[name] for params in self.configurations["space"] if name in params}

    @property
    def enqueued(self) -> dict[str, dict]:
        """The configurations that a person wrote, by their keys."""
        return {key: params for key, (params, *_) in self.configurations.items() if key.startswith("enqueue.")}


class Method:
    """One run of a method, as a plain object. A method of your own is a subclass of this.

    A method knows nothing about Ray, MLflow, Optuna or the ledger. It gets prepared inputs, the parameters of its
    configuration and the random streams of its replicate, and answers each `step()` with metrics. All its randomness
    must come from the streams; then the same specification gives the same scores, bit for bit.
    """

    steps: int = 1  # how many times `step` is called
    independent: bool = False  # steps do not need each other: an interrupted run goes on after its last reported step
    baselines: ClassVar[dict[str, type["Method"]]] = {}  # by name; they get the same inputs

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        adapt(cls)

    @classmethod
    def prepare(cls, request: Request, candidates: Candidates) -> Any:
        """Read and tokenise, once per search, on the driver; the result is shipped to every worker. Default: None.

        A method that does not need `candidates` may leave the argument out.
        """
        return None

    @classmethod
    def prepare_test(cls, request: Request) -> Any:
        """Read the test sets, on the driver, once the search has chosen what it confirms. Default: None, no test sets.

        `prepare` must not read them: only runs of the confirmation get the result of this.
        """
        return None

    @classmethod
    def size(cls, params: dict) -> float:
        """How much memory a run with these parameters takes compared with others; the largest run is measured.

        Default: its `batch_size`, if it has any, and half of it where activations are computed again.
        """
        return params.get("batch_size", 0) * (0.5 if params.get("gradient_checkpointing") else 1.0)

    @classmethod
    def streams_used(cls, params: dict) -> tuple[str, ...]:
        """The streams that a run with these parameters draws from: those that a decomposition varies. Default: all.

        A stream too many costs runs that all give the same score; a missing one leaves its part unexplained.
        """
        return STREAMS

    @classmethod
    def class_for(cls, params: dict) -> type["Method"]:
        """The class of a run with these parameters: a baseline if they name it. The name is then taken off them."""
        return cls.baselines[params.pop("baseline")] if "baseline" in params else cls

    def __init__(self, inputs: Any, params: dict, streams: Streams, device: Any):
        self.inputs, self.params, self.streams, self.device = inputs, params, streams, device

    def step(self, number: int) -> dict[str, float]:
        """Do step `number` (from 0), such as an epoch. Returns metrics: `split/metric/language` for each language."""
        raise NotImplementedError

    def test(self, tests: Any) -> dict[str, float]:
        """Metrics `test/metric/language` of the trained model on what `prepare_test` read. Default: none.

        Called once, after the last step of a run of the confirmation; never if `prepare_test` gave None.
        """
        return {}

    def constants(self) -> dict[str, float]:
        """Metrics that are known before any training, reported with those of the last step. Default: none."""
        return {}

    def pictures(self) -> list[dict]:
        """Pictures of this run, as plain data in the shape of `pictures.Picture`, drawn elsewhere. Default: none.

        Called once, after the last step and after `test`, and only in the first fresh replicate of each confirmed
        configuration. An error here costs the pictures and not the run, whose scores count; its time is not counted as
        the run's. What it needs of earlier steps belongs in `save`. A run that takes the results of an equal run has
        no model and draws nothing.
        """
        return []

    def product(self) -> dict[str, Any] | None:
        """Arrays by name that other runs of a plan (of a landscape) start from; kept in its folder. Default: none.

        Called once, after the last step of a run that has not failed.
        """
        return None

    def receive(self, products: list[dict[str, Any]]) -> None:
        """Take the products of other runs, in the order of the search's plan, before the first step."""

    def fingerprint(self, tests: Any) -> str | None:
        """Runs with the same text report the same metrics, `constants` apart, so only one of them is trained.

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
        """Write the trained model in the formats of its users and return the folders. Default: there is none."""
        return []

    def save(self, folder: Path) -> None:
        """Write what `load` needs to go on after the last finished step. Optional: without it a run starts over."""

    def load(self, folder: Path) -> None:
        """Go on from what `save` wrote."""
