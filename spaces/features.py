"""Configurations as points for a Gaussian process: every parameter that varies becomes one or more coordinates."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from seedwise.spaces.dimension import Dimension, is_number
from seedwise.spaces.space import Space

ABSENT = object()  # the value of a parameter that the canonical form has dropped
BEYOND = 0.5  # how far a value outside its range may lie beyond the ends, as a share of the range
DECADE = 10  # a parameter that is no dimension counts as logarithmic when its values span this factor


def features(space: Space, params: Sequence[dict]) -> np.ndarray:
    """The configurations `params` (canonical) as rows of coordinates; a full step in any parameter is a distance of 1.

    Ranges of the space become [0, 1], on the scale they are searched on; what was enqueued outside goes on beyond the
    ends, by half the range at most. Choices that are all numbers keep their order and are spaced evenly; other choices
    are one-hot. Where a parameter with a range has no number (it is dropped, or `all`), it takes the middle, and one
    more coordinate says so. A parameter that is no dimension of the space, since the function makes it from another, is
    scaled by the values at hand. Parameters that neither the space nor the configurations vary are left out.
    """
    dimensions = space.searched
    columns: list[np.ndarray] = []
    for name in sorted({name for row in params for name in row}):
        values = [row.get(name, ABSENT) for row in params]
        dimension = dimensions.get(name)
        if _varies(dimension) or len({_key(value) for value in values}) > 1:
            columns += _columns(values, dimension)
    return np.column_stack(columns) if columns else np.zeros((len(params), 0))


def _varies(dimension: Dimension | None) -> bool:
    if dimension is None:
        return False
    if dimension.choices is None:
        return dimension.low != dimension.high
    return len(set(map(_key, dimension.choices))) > 1


def _columns(values: list, dimension: Dimension | None) -> list[np.ndarray]:
    choices = dimension.choices if dimension is not None and dimension.choices is not None else ()
    numeric = any(map(_is_number, values)) if not choices else all(map(_is_number, choices))
    if not numeric:
        return _one_hot([_key(value) for value in values], {_key(choice) for choice in choices})
    numbers = np.array([value if _is_number(value) else np.nan for value in values], dtype=float)
    missing = np.isnan(numbers)
    scaled = np.full(len(values), 0.5)
    scaled[~missing] = _scaled(numbers[~missing], dimension)
    others = [_key(value) if gone else None for value, gone in zip(values, missing, strict=True)]
    kinds = sorted({other for other in others if other is not None})
    return [scaled, *(np.array([other == kind for other in others], dtype=float) for kind in kinds)]


def _scaled(numbers: np.ndarray, dimension: Dimension | None) -> np.ndarray:
    if dimension is not None and dimension.choices is not None:
        ordered = sorted(set(dimension.choices))
        return np.interp(numbers, ordered, np.linspace(0, 1, len(ordered)))
    if dimension is None or dimension.low == dimension.high:
        low, high = numbers.min(initial=math.inf), numbers.max(initial=-math.inf)
        dimension = Dimension(low=low, high=high, log=low > 0 and high >= DECADE * low)
    low, high = dimension.low, dimension.high
    if dimension.log:
        low, high = math.log(low), math.log(high)
        numbers = np.log(np.maximum(numbers, np.finfo(float).tiny))  # 0 is further down than any range
    if not low < high:
        return np.full(len(numbers), 0.5)
    return np.clip((numbers - low) / (high - low), -BEYOND, 1 + BEYOND)


def _one_hot(keys: list[str], known: set[str]) -> list[np.ndarray]:
    """Every two categories at distance 1: one column for two of them, else one each, of height 1 / sqrt(2)."""
    kinds = sorted(known.union(keys))
    if len(kinds) == 2:
        return [np.array([key == kinds[1] for key in keys], dtype=float)]
    return [np.array([key == kind for key in keys]) / math.sqrt(2) for kind in kinds]


def _is_number(value: Any) -> bool:
    return is_number(value) and math.isfinite(value)


def _key(value: Any) -> str:
    """What makes two values the same: 1 is 1.0, but neither is True nor "1"."""
    if value is ABSENT:
        return ""
    return repr(float(value) if _is_number(value) else value)
