"""Trials that a space function may be called with besides Optuna's own: overriding, probing, scripted."""

import random
from typing import Any

from seedwise.spaces.dimension import Dimension, overridden


class Overriding:
    """A trial whose suggestions are narrowed, fixed or replaced by the overrides before Optuna sees them."""

    def __init__(self, trial: Any, overrides: dict[str, Any]):
        self._trial = trial
        self._overrides = overrides

    def _suggest(self, name: str, dimension: Dimension) -> Any:
        if name in self._overrides:
            dimension = overridden(f"space.{name}", dimension, self._overrides[name])
        return dimension.suggest(self._trial, name)

    def suggest_categorical(self, name: str, choices: list) -> Any:
        return self._suggest(name, Dimension(choices=tuple(choices)))

    def suggest_int(self, name: str, low: int, high: int, *, step: int = 1, log: bool = False) -> int:
        return self._suggest(name, Dimension(low, high, log=log, step=None if step == 1 else step, integer=True))

    def suggest_float(
        self, name: str, low: float, high: float, *, step: float | None = None, log: bool = False
    ) -> float:
        return self._suggest(name, Dimension(low, high, log=log, step=step))


class Drawing(Overriding):
    """A trial that answers by itself; subclasses say how in `_suggest`."""

    def __init__(self) -> None:
        super().__init__(None, {})


class Probe(Drawing):
    """Answers at random, ends of ranges included, and remembers every dimension that was asked for."""

    def __init__(self, generator: random.Random):
        super().__init__()
        self.generator = generator
        self.seen: dict[str, Dimension] = {}

    def _suggest(self, name: str, dimension: Dimension) -> Any:
        self.seen[name] = dimension
        if dimension.choices is not None:
            return self.generator.choice(dimension.choices)
        low, high = dimension.low, dimension.high
        between = self.generator.randint(low, high) if dimension.integer else self.generator.uniform(low, high)
        return self.generator.choice([low, high, between])


class Open(Exception):
    """A scripted trial was asked for a dimension that its script does not answer yet."""

    def __init__(self, name: str, dimension: Dimension):
        super().__init__(name)
        self.name, self.dimension = name, dimension


class Scripted(Drawing):
    """Answers from a script, and stops at the first question it has no answer for."""

    def __init__(self, script: dict[str, Any]):
        super().__init__()
        self.script = script

    def _suggest(self, name: str, dimension: Dimension) -> Any:
        if name not in self.script:
            raise Open(name, dimension)
        return self.script[name]
