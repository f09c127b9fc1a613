"""Small methods for tests of the search itself: quick, seeded, and able to fail in every way a run can."""

import json
import os
import signal
import threading
from pathlib import Path

import numpy as np

from trainables.base import Method, RunFailed


class Quadratic(Method):
    """A score with its maximum at x = 0.3, plus noise of the replicate's own stream; `trouble` makes it fail."""

    epochs = 2

    def __init__(self, inputs, params, streams, device):
        super().__init__(inputs, params, streams, device)
        self.memory = 0.0

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


class DiesOnce(Quadratic):
    """Kills its own worker in epoch 3 of 5, the first time it gets there; the marker file remembers."""

    epochs = 5

    def epoch(self, number: int) -> dict[str, float]:
        marker = Path(self.params["marker"])
        with open(marker, "a") as log:
            log.write(f"{self.streams.replicate}:{number}\n")
        if number == 3 and marker.read_text().count(f"{self.streams.replicate}:3\n") == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().epoch(number)


def space(trial) -> dict:
    return {"x": trial.suggest_float("x", 0.0, 1.0)}


def troubled(trial) -> dict:
    kinds = ["none", "nan", "collapsed", "oom", "error", "die"]
    return {"x": 0.3, "trouble": trial.suggest_categorical("trouble", kinds)}


space.defaults = {"x": 0.5, "seconds": 0.0, "trouble": "none", "marker": ""}
troubled.defaults = space.defaults
