"""Small methods for tests of the search itself: quick, seeded, and able to fail in every way a run can."""

import gc
import json
import os
import signal
import threading
import time
from pathlib import Path

import numpy as np

from seedwise.trainables.method import Method, RunFailed


class Quadratic(Method):
    """A score with its maximum at x = 0.3, plus noise of the replicate's own stream; `trouble` makes it fail."""

    epochs = 2

    def __init__(self, inputs, params, streams, device):
        super().__init__(inputs, params, streams, device)
        self.memory = 0.0
        self.epochs = params.get("epochs") or type(self).epochs

    def epoch(self, number: int) -> dict[str, float]:
        threading.Event().wait(self.params.get("seconds", 0.0))
        noise = np.random.default_rng(self.streams.seed("order", number)).normal(0, 0.02)
        self.memory += noise
        value = 1 - (self.params["x"] - 0.3) ** 2 + self.memory
        trouble = self.params.get("trouble") if self.streams.replicate == 1 else None
        if trouble == "nan":
            value = float("nan")
        elif trouble == "collapsed" and number + 1 == self.epochs:
            raise RunFailed("collapsed", "one class", {"value": 0.1})
        elif trouble == "oom":
            raise MemoryError("no room")
        elif trouble == "error":
            raise KeyError("lost")
        elif trouble == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        return {"value": float(value), "memory": float(self.memory)}

    def save(self, folder: Path) -> None:
        (folder / "memory.json").write_text(json.dumps(self.memory))

    def load(self, folder: Path) -> None:
        self.memory = json.loads((folder / "memory.json").read_text())


class Tested(Quadratic):
    """Has a test set for its confirmation only; its last epoch reports whether the process holds it."""

    __test__ = False  # not a test case, despite its name

    @classmethod
    def prepare(cls, specification: dict) -> dict:
        return {"dev": [label.removeprefix("test ") for label in secret()]}

    @classmethod
    def prepare_test(cls, specification: dict) -> dict:
        return {"secret": secret()}

    @classmethod
    def streams_used(cls, params: dict) -> tuple[str, ...]:
        return ("order",)

    def epoch(self, number: int) -> dict[str, float]:
        return super().epoch(number) | ({"secret_in_memory": secret_in_memory()} if number + 1 == self.epochs else {})

    def test(self, tests: dict) -> dict[str, float]:
        if self.params.get("trouble") == "test":
            raise ValueError("the test set is broken")
        value = 1 - (self.params["x"] - 0.3) ** 2 if tests["secret"] == secret() else -1.0
        return {"test/value/x": value, "test/secret_in_memory/x": secret_in_memory()}


class Draws(Tested):
    """Draws its scores and a map of words, with characters that are special in some file format."""

    def pictures(self) -> list[dict]:
        if self.params.get("trouble") == "draw":
            raise ValueError("no ink")
        line = {"name": "value", "kind": "line", "x": [1, 2], "y": [self.memory, 0.5], "dashed": True}
        words = {
            "name": "<words>",
            "kind": "points",
            "x": [0.0, 1.0],
            "y": [1.0, 0.0],
            "labels": ["чалавек", 'a & "b"'],
        }
        panels = [
            {"title": "", "x": "epoch", "y": "value", "log": True, "series": [line]},
            {"title": "map", "x": "", "y": "", "series": [words]},
        ]
        text = f"What became of x = {self.params['x']} <in brackets> & $5."
        return [{"name": "scores", "title": "Scores & words", "text": text, "columns": 2, "panels": panels}]


def secret() -> list[str]:
    """Built at each call, so that no constant is mistaken for it. A list: the collector ignores dicts of text."""
    return [f"test label {number}" for number in range(3)]


def secret_in_memory() -> float:
    """1 if any dict in this process holds the secret, frozen objects included."""
    gc.unfreeze()
    wanted = secret()
    held = [thing["secret"] for thing in gc.get_objects() if type(thing) is dict and "secret" in thing]
    gc.freeze()  # or every later collection would go through all modules
    return float(any(type(value) is list and value == wanted for value in held))


class DiesOnce(Quadratic):
    """Kills its own worker in epoch 3 of 5, the first time only; the marker file records it."""

    epochs = 5

    def epoch(self, number: int) -> dict[str, float]:
        marker = Path(self.params["marker"])
        with open(marker, "a") as log:
            log.write(f"{self.streams.replicate}:{number}\n")
        if number == 3 and marker.read_text().count(f"{self.streams.replicate}:3\n") == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().epoch(number)


class Clocked(Quadratic):
    """Waits until eight runs have begun, and says when it began and ended, in seconds since 1970."""

    def epoch(self, number: int) -> dict[str, float]:
        if number == 0:
            self.began, crowd = time.time(), Path(self.params["marker"])
            (crowd / str(self.params["x"])).touch()
            while len(list(crowd.iterdir())) < 8 and time.time() < self.began + 100:
                threading.Event().wait(0.05)
        return {**super().epoch(number), "began": self.began, "ended": time.time()}


class Patient(Quadratic):
    """The second epoch of replicate 2 waits for a file, the marker, and reports it in a second file beside it."""

    def epoch(self, number: int) -> dict[str, float]:
        marker = Path(self.params["marker"])
        if self.streams.replicate == 2 and number == 1 and not marker.exists():
            with open(f"{marker}.log", "a") as log:
                log.write(f"{self.params['x']}\n")
            while not marker.exists():
                threading.Event().wait(0.05)
        return super().epoch(number)


class Stuck(Quadratic):
    """In the second epoch of replicate 1: `hang` never returns; `freeze` stops its process and `full` runs out of
    memory, both the first time only."""

    def epoch(self, number: int) -> dict[str, float]:
        if self.streams.replicate == 1 and number == 1:
            kind, marker = self.params["trouble"], Path(self.params["marker"]) / self.params["trouble"]
            first = not marker.exists()
            marker.touch()
            if kind == "hang":
                threading.Event().wait()
            elif kind == "freeze" and first:
                os.kill(os.getpid(), signal.SIGSTOP)
            elif kind == "full" and first:
                raise MemoryError("no room")
        return super().epoch(number)


def space(trial) -> dict:
    return {"x": trial.suggest_float("x", 0.0, 1.0)}


def troubled(trial) -> dict:
    kinds = ["none", "nan", "collapsed", "oom", "error", "die"]
    return {"x": 0.3, "trouble": trial.suggest_categorical("trouble", kinds)}


space.defaults = {"x": 0.5, "seconds": 0.0, "trouble": "none", "marker": "", "epochs": 0}
troubled.defaults = space.defaults
