"""A method that waits instead of computing, with epochs that can be saved. A separate module: workers import it."""

import json
import time
from pathlib import Path
from typing import Any

from seedwise.trainables.method import Method


class Steady(Method):
    """Four epochs of `seconds` each; each adds a random number, so a repeated or lost epoch is visible."""

    epochs = 4

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        self.total = 0.0

    def epoch(self, number: int) -> dict[str, float]:
        time.sleep(self.params["seconds"])
        self.total += self.streams.seed("order", number) % 1000 / 1000
        return {"value": self.total - self.params["x"] ** 2}

    def save(self, folder: Path) -> None:
        (folder / "total.json").write_text(json.dumps(self.total))

    def load(self, folder: Path) -> None:
        self.total = json.loads((folder / "total.json").read_text())


def space(trial: Any) -> dict:
    return {"x": trial.suggest_float("x", -1.0, 1.0)}


space.defaults = {"x": 0.0, "seconds": 1.0}
