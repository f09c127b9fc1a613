"""A worker: the trainable that runs any method for Ray Tune, one run after another."""

import json
import math
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

import ray
from ray import tune

from seedwise.folder import run_name
from seedwise.search.execution.checkpoints import Shelf, pack, unpack
from seedwise.search.execution.heartbeat import Beat, leaving
from seedwise.search.execution.shared_results import TELLING, Same
from seedwise.search.execution.start_barrier import begin_together
from seedwise.search.ledger.state import CONFIRM, DONE
from seedwise.trainables.method import Method, RunFailed
from seedwise.trainables.streams import Streams

PATIENCE = 20.0  # seconds that the first run of a worker waits for the other workers


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
        self.name, self.built = run_name(config["config_id"], config["replicate"]), False

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
        done = status != DONE or self.number >= self.run.steps
        if done and self.same:
            self.same.leave()
        told = not done and leaving(self.config["session"])
        return {
            "metrics": {name: value for name, value in metrics.items() if math.isfinite(value)},
            "status": status,
            "error": result["error"],
            "epoch": self.number,
            "epochs": self.run.steps if self.run else 0,
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
        if result and self.number + 1 >= self.run.steps:
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
                self.run.step(self.trained)
                self.trained += 1
            self.trained += 1
            metrics = self.last = finite(self.run.step(self.number))
            if self.number + 1 >= self.run.steps:
                metrics = finite(metrics | self.run.constants())
            confirms = self.tests is not None and self.config.get("phase") == CONFIRM
            if confirms and self.number + 1 >= self.run.steps:
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
            self.number = self.trained = min(config["told"], self.run.steps - 1)
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
