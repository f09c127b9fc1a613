"""A method that waits a second without computing, to measure overhead. Workers import this module."""

import os
import time
from typing import Any

from benchmarks.nothing import space
from seedwise.trainables.method import Method

__all__ = ["SECONDS", "Waiting", "space", "waited"]

SECONDS = 1.0  # duration of a run


class Waiting(Method):
    """A run of one second that says when and where it ran."""

    def epoch(self, number: int) -> dict[str, float]:
        return waited(self.params)


def waited(config: dict[str, Any]) -> dict[str, float]:
    """Wait; report a score, the start and the end (seconds since 1970) and the process."""
    began = time.time()
    time.sleep(SECONDS)
    return {"value": -(config["x"] ** 2), "began": began, "ended": time.time(), "process": float(os.getpid())}
