"""One dimension of a space, and what a person's override makes of it."""

from dataclasses import dataclass
from typing import Any

from seedwise.errors import RequestError
from seedwise.suggest import nearest


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
        """All values, for a grid; a continuous range has none such and is refused before."""
        if self.choices is not None:
            return list(self.choices)
        if self.low == self.high:
            return [self.low]
        step = self.step or 1
        count = int((self.high - self.low) / step + 1e-9) + 1
        return [self.low + index * step for index in range(count)]

    def suggest(self, trial: Any, name: str) -> Any:
        """Ask `trial` for a value of this dimension."""
        if self.choices is not None:
            fixed = len(self.choices) == 1  # then Optuna need not know
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


def overridden(key: str, dimension: Dimension | None, override: Any) -> Dimension:
    """The dimension that an override makes: a value fixes, [low, high] narrows a range, other lists are choices.

    `key` is that of the specification, for errors.
    """
    if isinstance(override, dict):
        known = {"low", "high", "log", "step", "choices"}
        if unknown := sorted(override.keys() - known):
            raise RequestError(f"{key}.{unknown[0]}", "there is no such key", nearest(unknown[0], sorted(known)))
        if "choices" in override:
            if not isinstance(override["choices"], list) or not override["choices"]:
                raise RequestError(f"{key}.choices", f"{override['choices']!r} is not a list", "Write [a, b, ...].")
            return Dimension(choices=tuple(override["choices"]))
        base = dimension or Dimension()
        low, high, step = (override.get(name, getattr(base, name)) for name in ("low", "high", "step"))
        log = override.get("log", base.log and "step" not in override)  # steps are even, so they end a log scale
        if not isinstance(log, bool) or (log and step):
            raise RequestError(f"{key}.log", f"{log!r}", "Write true or false, and no step together with true.")
        if step is not None and (not is_number(step) or step <= 0):
            raise RequestError(
                f"{key}.step", f"{step!r} must be a number above 0", "Write how far apart two values are."
            )
        return _range(key, low, high, base, log, step)
    if isinstance(override, list):
        numeric = dimension is None or dimension.choices is None
        if numeric and len(override) == 2 and all(is_number(value) for value in override):
            base = dimension or Dimension()
            return _range(key, *override, base, base.log, base.step)
        if not override:
            raise RequestError(key, "the list is empty", "Write at least one value.")
        return Dimension(choices=tuple(override))
    return Dimension(choices=(override,))


def _range(key: str, low: Any, high: Any, base: Dimension, log: bool, step: float | None) -> Dimension:
    if not (is_number(low) and is_number(high)):
        raise RequestError(key, f"a range needs two numbers, got {low!r} and {high!r}", "Write [low, high].")
    if low > high:
        raise RequestError(key, f"[{low}, {high}] is upside down", f"Write [{high}, {low}].")
    if log and low <= 0:
        raise RequestError(
            key, f"low is {low}, a logarithmic range must start above 0", "Write a higher low, or log: false."
        )
    integer = all(isinstance(value, int) for value in (low, high)) and (base.low is None or base.integer)
    if base.integer and not integer:
        raise RequestError(key, f"[{low}, {high}] must be whole numbers", "Write them without a point.")
    return Dimension(low=low, high=high, log=log, step=step, integer=integer)


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
