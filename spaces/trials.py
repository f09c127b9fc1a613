"""Trials that can replace Optuna's in a call of a space function: each suggestion becomes a `Dimension`."""

import random
from collections.abc import Callable
from typing import Any

from seedwise.spaces.dimension import Dimension


class Trial:
    """Answers every suggestion with `answer(name, dimension)`."""

    def __init__(self, answer: Callable[[str, Dimension], Any]):
        self._answer = answer

    def suggest_categorical(self, name: str, choices: list) -> Any:
        return self._answer(name, Dimension(choices=tuple(choices)))

    def suggest_int(self, name: str, low: int, high: int, *, step: int = 1, log: bool = False) -> int:
        return self._answer(name, Dimension(low, high, log=log, step=None if step == 1 else step, integer=True))

    def suggest_float(
        self, name: str, low: float, high: float, *, step: float | None = None, log: bool = False
    ) -> float:
        return self._answer(name, Dimension(low, high, log=log, step=step))


class RandomTrial(Trial):
    """Answers at random, ends of ranges included, and records every dimension."""

    def __init__(self, generator: random.Random):
        super().__init__(self._draw)
        self.generator = generator
        self.dimensions: dict[str, Dimension] = {}

    def _draw(self, name: str, dimension: Dimension) -> Any:
        self.dimensions[name] = dimension
        if dimension.choices is not None:
            return self.generator.choice(dimension.choices)
        low, high = dimension.low, dimension.high
        between = self.generator.randint(low, high) if dimension.integer else self.generator.uniform(low, high)
        return self.generator.choice([low, high, between])


class MissingValue(Exception):
    """A space function asked a scripted trial for a dimension that has no value."""

    def __init__(self, name: str, dimension: Dimension):
        super().__init__(name)
        self.name, self.dimension = name, dimension


def scripted(values: dict[str, Any]) -> Trial:
    """A trial that answers from `values`, and raises `MissingValue` for any other dimension."""

    def answer(name: str, dimension: Dimension) -> Any:
        if name not in values:
            raise MissingValue(name, dimension)
        return values[name]

    return Trial(answer)
