"""One dimension of a space, and the effect of a user's override on it."""

from dataclasses import dataclass
from typing import Any

from seedwise.errors import RequestError, nearest


@dataclass(frozen=True)
class Dimension:
    """One suggestion of a space: a range (`low`..`high`, maybe `log`, maybe with a `step`), or `choices`."""

    low: float | None = None
    high: float | None = None
    log: bool = False
    step: float | None = None
    integer: bool = False
    choices: tuple | None = None

    def values(self) -> list:
        """All values, for a grid. Only for dimensions that are not continuous."""
        if self.choices is not None:
            return list(self.choices)
        step = self.step or 1
        return [self.low + index * step for index in range(int((self.high - self.low) / step + 1e-9) + 1)]

    def suggest(self, trial: Any, name: str) -> Any:
        """Ask `trial` for a value of this dimension."""
        if self.choices is not None:
            fixed = len(self.choices) == 1  # then there is nothing for Optuna to choose
            return self.choices[0] if fixed else trial.suggest_categorical(name, list(self.choices))
        if self.integer:
            return trial.suggest_int(name, int(self.low), int(self.high), step=int(self.step or 1), log=self.log)
        return trial.suggest_float(name, self.low, self.high, step=self.step, log=self.log)

    def __contains__(self, value: Any) -> bool:
        if self.choices is not None:
            return value in self.choices
        return is_number(value) and self.low <= value <= self.high

    @property
    def continuous(self) -> bool:
        return self.choices is None and not self.integer and self.step is None and self.low != self.high


def overridden(key: str, dimension: Dimension, override: Any) -> Dimension:
    """The dimension after an override: a value fixes it, [low, high] narrows a range, other lists are choices.

    `key` is the key in the specification, for errors.
    """

    def require(holds: bool, problem: str, fix: str, part: str = "") -> None:
        if not holds:
            raise RequestError(key + part, problem, fix)

    pair = isinstance(override, list) and len(override) == 2 and all(map(is_number, override))
    if pair and dimension.choices is None:
        override = {"low": override[0], "high": override[1]}
    if not isinstance(override, dict):
        require(override != [], "the list is empty", "Write at least one value.")
        return Dimension(choices=tuple(override) if isinstance(override, list) else (override,))

    known = ["choices", "high", "log", "low", "step"]
    for name in sorted(override.keys() - set(known)):
        require(False, "there is no such key", nearest(name, known), f".{name}")
    if (choices := override.get("choices", ())) != ():
        valid = isinstance(choices, list) and choices != []
        require(valid, f"{choices!r} is not a list", "Write [a, b, ...].", ".choices")
        return Dimension(choices=tuple(choices))
    low, high, step = (override.get(name, getattr(dimension, name)) for name in ("low", "high", "step"))
    log = override.get("log", dimension.log and "step" not in override)  # steps are even, so they end a log scale
    valid = isinstance(log, bool) and not (log and step)
    require(valid, f"{log!r} is not possible here", "Write true or false, and no step together with true.", ".log")
    valid = step is None or (is_number(step) and step > 0)
    require(valid, f"{step!r} must be a number above 0", "Write how far apart two values are.", ".step")
    valid = is_number(low) and is_number(high)
    require(valid, f"a range needs two numbers, got {low!r} and {high!r}", "Write [low, high].")
    require(low <= high, f"[{low}, {high}] is upside down", f"Write [{high}, {low}].")
    problem = f"low is {low}, a logarithmic range must start above 0"
    require(not log or low > 0, problem, "Write a higher low, or log: false.")
    whole = isinstance(low, int) and isinstance(high, int)
    require(whole or not dimension.integer, f"[{low}, {high}] must be whole numbers", "Write no decimal points.")
    return Dimension(low, high, log, step, integer=whole and (dimension.low is None or dimension.integer))


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
