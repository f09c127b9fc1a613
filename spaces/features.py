"""Configurations as points for a Gaussian process: every parameter that varies becomes one or more coordinates."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from seedwise.spaces.dimension import Dimension, is_number
from seedwise.spaces.space import Space

ABSENT = object()  # the value of a parameter that the canonical form has dropped
BEYOND = 0.5  # how far a value outside its range may lie beyond the ends, as a share of the range
DECADE = 10  # a parameter that is not a dimension counts as logarithmic if its values span this factor


def features(space: Space, params: Sequence[dict]) -> np.ndarray:
    """The configurations `params` (canonical) as rows of coordinates; a full step in any parameter is a distance of 1.

    - A range becomes [0, 1] on its own scale; a value outside, for example an enqueued value, lies at most BEYOND away.
    - Choices that are all numbers keep their order and are spaced evenly; other choices are one-hot.
    - If a range has no number (it is dropped, or `all`), its coordinate is the middle, and another coordinate says so.
    - A parameter that the function derives, and that is thus no dimension, is scaled by the values in `params`.
    - A parameter that neither the space nor the configurations vary is left out.
    """
    dimensions = space.searched
    columns: list[np.ndarray] = []
    for name in sorted({name for row in params for name in row}):
        values = [row.get(name, ABSENT) for row in params]
        dimension = dimensions.get(name)
        possible = (dimension.choices or (dimension.low, dimension.high)) if dimension else ()
        if len(set(map(_key, values))) > 1 or len(set(map(_key, possible))) > 1:
            columns += _columns(values, dimension)
    return np.column_stack(columns) if columns else np.zeros((len(params), 0))


def _columns(values: list, dimension: Dimension | None) -> list[np.ndarray]:
    choices = (dimension and dimension.choices) or ()
    if not (all(map(is_number, choices)) if choices else any(map(is_number, values))):
        return _one_hot(list(map(_key, values)), set(map(_key, choices)))
    numbers = np.array([value if is_number(value) else np.nan for value in values], dtype=float)
    missing = np.isnan(numbers)
    scaled = np.full(len(values), 0.5)
    scaled[~missing] = _scaled(numbers[~missing], dimension)
    keys = [None if is_number(value) else _key(value) for value in values]
    kinds = sorted(set(keys) - {None})
    return [scaled, *(np.array([key == kind for key in keys], dtype=float) for kind in kinds)]


def _scaled(numbers: np.ndarray, dimension: Dimension | None) -> np.ndarray:
    if dimension is not None and dimension.choices is not None:
        ordered = sorted(set(dimension.choices))
        return np.interp(numbers, ordered, np.linspace(0, 1, len(ordered)))
    if dimension is None or dimension.low == dimension.high:
        low, high = numbers.min(), numbers.max()
        dimension = Dimension(low=low, high=high, log=low > 0 and high >= DECADE * low)
    low, high = dimension.low, dimension.high
    if dimension.log:
        low, high = math.log(low), math.log(high)
        numbers = np.log(np.maximum(numbers, np.finfo(float).tiny))  # 0 is further down than any range
    if not low < high:
        return np.full(len(numbers), 0.5)
    return np.clip((numbers - low) / (high - low), -BEYOND, 1 + BEYOND)


def _one_hot(keys: list[str], known: set[str]) -> list[np.ndarray]:
    """Every two categories at distance 1: a column for two categories, else a column per category, with 1 / sqrt(2)."""
    kinds = sorted(known.union(keys))
    if len(kinds) == 2:
        return [np.array([key == kinds[1] for key in keys], dtype=float)]
    return [np.array([key == kind for key in keys]) / math.sqrt(2) for kind in kinds]


def _key(value: Any) -> str:
    """A text that is equal for equal values: 1 equals 1.0, but neither equals True or "1"."""
    if value is ABSENT:
        return ""
    return repr(float(value) if is_number(value) else value)
