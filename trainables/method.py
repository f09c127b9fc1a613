"""The contract of a method: one run as a plain object, which knows nothing of what runs it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from seedwise.trainables.earlier import adapt
from seedwise.trainables.request import Request
from seedwise.trainables.streams import STREAMS, Streams


class RunFailed(Exception):
    """A run that ended badly in a known way: `kind` is nan or collapsed. Its last metrics are kept."""

    def __init__(self, kind: str, text: str, metrics: dict[str, float] | None = None):
        super().__init__(text)
        self.kind = kind
        self.metrics = metrics or {}


@dataclass(frozen=True)
class Candidates:
    """Every configuration that a search can ask for, so that inputs are read and checked for all of them at once.

    They stand below the key of the specification that asks for them: `space`, `baselines.NAME`, `enqueue.0`. A range
    has endless values: its configurations are a sample with both ends.
    """

    configurations: Mapping[str, Sequence[dict]]

    def values(self, name: str, key: str = "space") -> set:
        """The values of a parameter in the configurations below a key; those that do not have it are left out."""
        return {params[name] for params in self.configurations[key] if name in params}

    @property
    def enqueued(self) -> dict[str, dict]:
        """The configurations that a person wrote, by their keys."""
        return {key: params for key, (params, *_) in self.configurations.items() if key.startswith("enqueue.")}


class Method:
    """One run of a method, as a plain object: a subclass is all that a method of one's own needs.

    A method knows nothing of Ray, MLflow, Optuna or the ledger. It gets prepared inputs, the parameters of its
    configuration and the random streams of its replicate, and answers each `step()` with metrics. All its randomness
    must come from the streams; then the same specification gives the same scores, bit for bit.
    """

    steps: int = 1  # how many times `step` is called
    independent: bool = False  # whether no step needs another: a run goes on after the last that was reported
    baselines: ClassVar[dict[str, type["Method"]]] = {}  # by name; they get the same inputs

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        adapt(cls)

    @classmethod
    def prepare(cls, request: Request, candidates: Candidates) -> Any:
        """Read and tokenise, once per search, on the driver; the result is shipped to every worker. Default: none.

        `candidates` has every configuration that the search can ask for. A method that does not need it may leave the
        argument out.
        """
        return None

    @classmethod
    def prepare_test(cls, request: Request) -> Any:
        """Read the test sets, on the driver, once the search has chosen what it confirms. Default: there are none.

        `prepare` must not read them: the result of this goes to runs of the confirmation and to no others.
        """
        return None

    @classmethod
    def size(cls, params: dict) -> float:
        """How much memory a run with these parameters takes compared with others; the largest one is measured.

        Default: its `batch_size`, where it has one, and half of it where activations are computed again.
        """
        return params.get("batch_size", 0) * (0.5 if params.get("gradient_checkpointing") else 1.0)

    @classmethod
    def streams_used(cls, params: dict) -> tuple[str, ...]:
        """The streams that a run with these parameters draws from; only these are varied alone. Default: all.

        One too many costs runs that all give the same score; one that is missing leaves its part unexplained.
        """
        return STREAMS

    @classmethod
    def class_for(cls, params: dict) -> type["Method"]:
        """The class of a run with these parameters: a baseline, where they name one, which is then taken off them."""
        return cls.baselines[params.pop("baseline")] if "baseline" in params else cls

    def __init__(self, inputs: Any, params: dict, streams: Streams, device: Any):
        self.inputs, self.params, self.streams, self.device = inputs, params, streams, device

    def step(self, number: int) -> dict[str, float]:
        """Do step `number` (from 0), such as an epoch.

        Returns metrics, named `split/metric/language` where there are languages.
        """
        raise NotImplementedError

    def test(self, tests: Any) -> dict[str, float]:
        """Metrics `test/metric/language` of the trained model on what `prepare_test` read. Default: none.

        Called once, after the last step of a run of the confirmation; never where `prepare_test` gave None.
        """
        return {}

    def constants(self) -> dict[str, float]:
        """Metrics that are known before any training, reported with those of the last step. Default: none."""
        return {}

    def pictures(self) -> list[dict]:
        """Pictures of this run, as plain data that is drawn elsewhere. Default: none.

        Called once, after the last step and after `test`, only where the search asks for it: in the first fresh
        replicate of each configuration that is confirmed. An error here costs the pictures and not the run, whose
        scores count; the time it takes is not counted as the run's. What it needs of earlier steps belongs into
        `save`. A run that takes the results of an equal one has no model, and is not asked. One picture:

            {"name": "losses",  # of its file: letters, digits, - and _, different from that of the others
             "title": "...", "text": "what one sees and how it was made; also read out where nothing is seen",
             "columns": 2,  # panels per row
             "panels": [{"title": "...", "x": "name of the axis, may be empty", "y": "...", "log": False,  # of y
                         "series": [{"name": "train", "kind": "line",  # or "points"
                                     "x": [1.0, 2.0], "y": [0.7, 0.5],
                                     "labels": ["first", "second"], "dashed": False,
                                     "low": [0.6, 0.4], "high": [0.8, 0.6]}]}]}  # a band behind it

        `log`, `labels`, `dashed`, and `low` with `high` may be left out. Numbers are finite. Series of one name have
        one colour.
        """
        return []

    def product(self) -> dict[str, Any] | None:
        """Arrays by name that other runs of a plan (of a landscape) are made of; kept in its folder. Default: none.

        Called once, after the last step of a run that has not failed.
        """
        return None

    def receive(self, products: list[dict[str, Any]]) -> None:
        """Take what other runs left, in the order the search's plan has them, before the first step."""

    def fingerprint(self, tests: Any) -> str | None:
        """The same text for two runs means that they would report the same metrics, `constants` apart: one is trained.

        `tests` is what `prepare_test` gave, for runs that are tested, else None. Default: None, all runs are trained.
        """
        return None

    def export(self, request: Request, folder: Path) -> list[Path]:
        """Write the trained model in the formats of its users and return the folders. Default: there is none."""
        return []

    def save(self, folder: Path) -> None:
        """Write what `load` needs to go on after the last finished step. Optional: without it a run starts over."""

    def load(self, folder: Path) -> None:
        """Go on from what `save` wrote."""
