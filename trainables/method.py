"""One run: what a method must provide, and the one Ray trainable that runs any of them."""

import json
import math
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any, ClassVar

import ray
from ray import tune

from seedwise.search.execution.checkpoints import Shelf, pack, unpack
from seedwise.search.execution.heartbeat import Beat, leaving
from seedwise.search.execution.shared_results import Same
from seedwise.search.execution.start_barrier import begin_together
from seedwise.trainables.streams import STREAMS, Streams

DONE = "done"
CONFIRM = "confirm"  # the phase of a run on fresh replicates, the only one that is tested
TELLING = (DONE, "failed:nan", "failed:collapsed")  # what a run with the same fingerprint would end with too
PATIENCE = 20.0  # seconds that the first run of a worker waits for the other workers


class RunFailed(Exception):
    """A run that ended badly in a known way: `kind` is nan or collapsed. Its last metrics are kept."""

    def __init__(self, kind: str, text: str, metrics: dict[str, float] | None = None):
        super().__init__(text)
        self.kind = kind
        self.metrics = metrics or {}


class Method:
    """One run of a method, as a plain object: a subclass is all that a method of one's own needs.

    A method knows nothing of Ray, MLflow, Optuna or the ledger. It gets prepared inputs, the parameters of its
    configuration and the random streams of its replicate, and answers each `epoch()` with metrics. All its randomness
    must come from the streams; then the same specification gives the same scores, bit for bit.
    """

    epochs: int = 1  # how many times `epoch` is called
    independent: bool = False  # whether no epoch needs another: a run that goes on begins after the last that was told
    baselines: ClassVar[dict[str, type["Method"]]] = {}  # by name; they get the same inputs

    @classmethod
    def prepare(cls, specification: dict) -> Any:
        """Read and tokenise, once per search, on the driver; the result is shipped to every worker. Default: none."""
        return None

    @classmethod
    def prepare_test(cls, specification: dict) -> Any:
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

    def epoch(self, number: int) -> dict[str, float]:
        """Do epoch `number` (from 0) and return metrics, named `split/metric/language` where there are languages."""
        raise NotImplementedError

    def test(self, tests: Any) -> dict[str, float]:
        """Metrics `test/metric/language` of the trained model on what `prepare_test` read. Default: none.

        Called once, after the last epoch of a run of the confirmation; never where `prepare_test` gave None.
        """
        return {}

    def constants(self) -> dict[str, float]:
        """Metrics that are known before any training, told with those of the last epoch. Default: none."""
        return {}

    def pictures(self) -> list[dict]:
        """Pictures of this run, as plain data that is drawn elsewhere. Default: none.

        Called once, after the last epoch and after `test`, only where the search asks for it: in the first fresh
        replicate of each configuration that is confirmed. An error here costs the pictures and not the run, whose
        scores count; the time it takes is not counted as the run's. What it needs of earlier epochs belongs into
        `save`. A run that takes the results of an equal one has no model, and is not asked. One picture:

            {"name": "losses",  # of its file: letters, digits, - and _, different from that of the others
             "title": "...", "text": "what one sees and how it was made; also read out where nothing is seen",
             "columns": 2,  # panels per row
             "panels": [{"title": "...", "x": "name of the axis, may be empty", "y": "...", "log": False,  # of y
                         "series": [{"name": "train", "kind": "line",  # or "points"
                                     "x": [1.0, 2.0], "y": [0.7, 0.5],
                                     "labels": ["first", "second"], "dashed": False,
                                     "low": [0.6, 0.4], "high": [0.8, 0.6]}],  # a band behind it
                         "surface": {"x": [0.0, 1.0], "y": [0.0, 1.0, 2.0],  # filled contours below all series,
                                     "z": [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]}}]}  # a row for each y

        `log`, `labels`, `dashed`, `low` with `high`, and `surface` may be left out. Numbers are finite. Series of one
        name have one colour, all surfaces of a picture one scale.
        """
        return []

    def product(self) -> dict[str, Any] | None:
        """Arrays by name that other runs of a plan (of a landscape) are made of; kept in its folder. Default: none.

        Called once, after the last epoch of a run that has not failed.
        """
        return None

    def receive(self, products: list[dict[str, Any]]) -> None:
        """Take what other runs left, in the order the search's plan has them, before the first epoch."""

    def fingerprint(self, tests: Any) -> str | None:
        """The same text for two runs means that they would report the same metrics, `constants` apart: one is trained.

        `tests` is what `prepare_test` gave, for runs that are tested, else None. Default: None, all runs are trained.
        """
        return None

    def export(self, specification: dict, folder: Path) -> list[Path]:
        """Write the trained model in the formats of its users and return the folders. Default: there is none."""
        return []

    def save(self, folder: Path) -> None:
        """Write what `load` needs to go on after the last finished epoch. Optional: without it a run starts over."""

    def load(self, folder: Path) -> None:
        """Go on from what `save` wrote."""


class RunTrainable(tune.Trainable):
    """The Ray Tune side of a run: one step per epoch, typed failures, checkpoints, reuse of the worker."""

    def setup(self, config: dict, method: type[Method], inputs: Any, tests: Any = None) -> None:
        self.method, self.inputs, self.tests, self.place, self.first = method, inputs, tests, None, True
        self.same: Same | None = None
        self.node = ray.get_runtime_context().get_node_id() if ray.is_initialized() else ""
        self.beat = Beat(config["beat_seconds"], self.node)
        if "torch" in sys.modules:  # which the method imports, if it needs it
            from seedwise.trainables.training import device

            self.place = device.set_up(config["threads"], config["gpus"])
        self.begin(config)

    def reset_config(self, new_config: dict) -> bool:
        self.begin(new_config)
        return True

    def begin(self, config: dict) -> None:
        """Start a run from nothing but its configuration: all that an earlier run left behind is dropped first."""
        self.run: Method | None = None
        self.ready: Any = None  # what the last step has for the driver
        self.hand_in(None)
        if self.place is not None:
            from seedwise.trainables.training import device

            device.free()
        self.number, self.seconds, self.saved, self.failure = 0, 0.0, time.monotonic(), None
        self.trained = 0  # epochs that this worker did itself: fewer than `number` while it takes another's results
        if self.same:
            self.same.leave()
        self.same, self.same_as = None, ""
        self.last: dict[str, float] = {}  # metrics of the last epoch that gave any
        self.name, self.built = f"{config['config_id']}-{config['replicate']}", False

    def _build(self, config: dict) -> None:
        """Make the run, in its first step: Tune looks at nothing before, and a method may hang here as well."""
        try:
            self.run = self._new_run(config)
            try:
                self._go_on(config)
            except Exception as error:  # it is damaged, or its place cannot be reached: the run starts over
                print(f"the state of {self.name} is not usable ({describe(error)}); it starts over", flush=True)
                self.run, self.number, self.trained, self.seconds = self._new_run(config), 0, 0, 0.0
            fingerprint = self.run.fingerprint(self.tests if config.get("phase") == CONFIRM else None)
            if fingerprint is not None:
                self.same = Same(config["session"], fingerprint, f"{config['config_id']}/{config['replicate']}")
        except Exception as error:  # told to the search as this run's result, by the first step
            self.failure = error

    def _new_run(self, config: dict) -> Method:
        streams = Streams(config["seed"], config["replicate"], config.get("vary"))
        params = dict(config["params"])
        run = self.method.class_for(params)(self.inputs, params, streams, self.place)
        if config["products"]:
            if len(self.products) != config["products"]:
                raise RuntimeError(f"{len(self.products)} of {config['products']} models arrived from other runs")
            run.receive(list(self.products))
        return run

    def step(self) -> dict:
        if self.first:
            begin_together(self.config["session"], self.config["workers"], patience=PATIENCE)
            self.first = False
        if not self.built:
            self.beat.of(self.config["session"], self.name)  # its time begins
            self._build(self.config)
            self.hand_in(None)
            self.built = True
        started = time.perf_counter()
        result = self._taken()
        if result is None:
            result = self._trained()
            result["seconds"] = self.seconds + time.perf_counter() - started
            if self.same and result["status"] in TELLING:
                self.same.publish(self.number, result)
        status, metrics = result["status"], result["metrics"]
        self.number += 1
        self.last, self.seconds = metrics, result["seconds"]  # what it costs, whoever did it
        done = status != DONE or self.number >= self.run.epochs
        if done and self.same:
            self.same.leave()
        told = not done and leaving(self.config["session"])
        return {
            "metrics": {name: value for name, value in metrics.items() if math.isfinite(value)},
            "status": status,
            "error": result["error"],
            "epoch": self.number,
            "epochs": self.run.epochs if self.run else 0,
            "seconds": self.seconds,
            "node": self.node,
            "pictures": self._drawn() if done and status == DONE and self.config.get("draws") else "",
            "product": done and status == DONE and self._product(),
            "same_as": self.same_as,
            "fingerprint": self.same.fingerprint if self.same else "",
            "state": not done and self._saved(now=told),
            "leaving": told,
            "done": done,
        }

    def _taken(self) -> dict | None:
        """This epoch's result from another run that does the same work; None where this one has to do it."""
        if self.same is None or (self.trained and self.trained == self.number) or self.same.mine():
            return None
        result = self.same.wait(self.number)
        self.same_as = self.same.owner() if result else ""
        if result and self.number + 1 >= self.run.epochs:
            result["metrics"] |= self.run.constants()  # its own, not the other's
        return result

    def _trained(self) -> dict:
        """This epoch's result from doing it, after those that were taken from a run that is gone."""
        try:
            if self.failure:
                raise self.failure
            if self.trained < self.number:
                self.seconds = 0.0  # what the other needed for them does not count twice
            while self.trained < self.number:
                self.run.epoch(self.trained)
                self.trained += 1
            self.trained += 1
            metrics = self.last = finite(self.run.epoch(self.number))
            if self.number + 1 >= self.run.epochs:
                metrics = finite(metrics | self.run.constants())
            confirms = self.tests is not None and self.config.get("phase") == CONFIRM
            if confirms and self.number + 1 >= self.run.epochs:
                metrics = finite(metrics | self.run.test(self.tests))
            return {"status": DONE, "error": "", "metrics": metrics}
        except Exception as error:
            metrics = getattr(error, "metrics", None) or self.last
            return {"status": f"failed:{kind_of(error)}", "error": describe(error), "metrics": metrics}

    def _drawn(self) -> str:
        """The pictures of a finished run as JSON; empty where there are none, or where drawing them failed."""
        if self.trained < self.number:
            return ""  # its results were taken from another run
        try:
            from seedwise.trainables.pictures import as_json

            return as_json(self.run.pictures())
        except Exception as error:
            print(f"{type(self.run).__name__}.pictures failed, its run counts: {describe(error)}", flush=True)
            return ""

    def hand_in(self, state: bytes | None, *products: Any) -> None:
        """Take what the driver has for a run before its first step: its saved state, and what other runs left for it.

        They do not come with its configuration: Tune keeps that of all runs, and gets it back with every step.
        """
        self.kept, self.products = state, products

    def hand_over(self) -> Any:
        """What the last step has for the driver, which asks as soon as it hears of it: a saved state, or a product.

        It does not come with the step itself: Tune keeps the answers of all steps for as long as a worker lives, and
        the states of a long search would fill the disks of its nodes.
        """
        ready, self.ready = self.ready, None
        return ready

    def _product(self) -> bool:
        """Whether this run leaves something for others."""
        self.ready = self.run.product()
        return self.ready is not None

    def _saved(self, *, now: bool) -> bool:
        """Whether there is a state for the driver: where it is time to save one, and it did not go to a shelf.

        A state that cannot be saved costs no run: it would start further back if it had to go on elsewhere.
        """
        if type(self.run).save is Method.save or self.trained != self.number:
            return False
        waited = time.monotonic() - self.saved
        if waited < self.config["checkpoint_seconds"] and not now:
            return False
        self.saved = time.monotonic()
        try:
            state = self.state()
            if self.config["shelf"]:
                Shelf(self.config["shelf"]).save(self.name, state)
            else:
                self.ready = state
                return True
        except Exception as error:  # torch, safetensors, pyarrow and Ray have each their own for a full disk
            print(f"the state of {self.name} was not saved: {describe(error)}", flush=True)
        return False

    def state(self) -> bytes:
        """All that a worker needs to go on after the last finished epoch."""
        with tempfile.TemporaryDirectory() as folder:
            self.run.save(Path(folder))
            progress = {"epoch": self.number, "seconds": self.seconds}
            Path(folder, "epoch.json").write_text(json.dumps(progress))
            return pack(Path(folder))

    def _go_on(self, config: dict) -> None:
        """Load the last state that was saved of this run, if there is one."""
        if self.run.independent:
            self.number = self.trained = min(config["told"], self.run.epochs - 1)
            return
        state = Shelf(config["shelf"]).load(self.name) if config["shelf"] else self.kept
        if not state:
            return
        with tempfile.TemporaryDirectory() as folder:
            unpack(state, Path(folder))
            progress = json.loads(Path(folder, "epoch.json").read_text())
            self.run.load(Path(folder))
        self.number = self.trained = progress["epoch"]
        self.seconds = progress["seconds"]


def finite(metrics: dict[str, float]) -> dict[str, float]:
    """The metrics as they are; one that is not a number ends the run."""
    for name, value in metrics.items():
        if not math.isfinite(value):
            raise RunFailed("nan", f"{name} is {value}", metrics)
    return metrics


def kind_of(error: Exception) -> str:
    """nan, collapsed, oom or error."""
    if isinstance(error, RunFailed):
        return error.kind
    return "oom" if isinstance(error, MemoryError) or "OutOfMemory" in type(error).__name__ else "error"


def describe(error: Exception) -> str:
    """The error and the place it came from, in one line."""
    place = traceback.extract_tb(error.__traceback__)[-1] if error.__traceback__ else None
    where = f" ({Path(place.filename).name}:{place.lineno})" if place else ""
    return f"{type(error).__name__}: {error}".splitlines()[0] + where
