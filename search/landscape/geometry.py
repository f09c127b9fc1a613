"""Distances and angles between trained models, from their inner products."""

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from seedwise.files import write_atomically
from seedwise.trainables.landscape.jobs import Model

BLOCK = 1 << 20  # numbers of each model that are in memory at once


def inner_products(paths: Sequence[Path], block: int = BLOCK) -> np.ndarray:
    """Inner products of the differences between each model and the first model, in float64, block by block.

    Differences, because the models are close to each other and far from zero: in products of the parameters themselves,
    rounding would hide what distinguishes the models. Blocks, because a dozen word tables do not fit in memory.
    """
    from safetensors import safe_open

    files = [safe_open(path, framework="numpy") for path in paths]
    products = np.zeros((len(paths), len(paths)))
    for name in files[0].keys():  # noqa: SIM118 (no mapping)
        for blocks in _blocks([file.get_slice(name) for file in files], block):
            rows = np.stack(blocks).astype(np.float64)
            rows -= rows[0]
            products += rows @ rows.T
    return products


def _blocks(tensors: list, block: int) -> Iterator[list[np.ndarray]]:
    """Yield the same few rows of every tensor, flattened to one vector per tensor. All tensors have one shape."""
    shape = tensors[0].get_shape()
    if not shape:
        yield [np.reshape(tensor[...], 1) for tensor in tensors]
        return
    step = max(1, block // max(1, math.prod(shape[1:])))
    for start in range(0, shape[0], step):
        end = min(start + step, shape[0])  # safetensors refuses a slice beyond the end
        yield [np.asarray(tensor[start:end]).ravel() for tensor in tensors]


def stored_products(target: str, paths: Sequence[Path], file: Path) -> np.ndarray | None:
    """`inner_products` of a target's models, computed once and then read from `file`, which also names the models.

    So the report can be rewritten after the models were deleted. Returns None if the products are not stored and a
    model is missing or damaged: the curves of a landscape do not need them.
    """
    from safetensors import SafetensorError

    names = [path.name for path in paths]
    stored = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    if stored.get(target, {}).get("models") != names:
        try:
            stored[target] = {"models": names, "products": inner_products(paths).tolist()}
        except (FileNotFoundError, SafetensorError):
            return None
        write_atomically(file, json.dumps(stored) + "\n")
    return np.array(stored[target]["products"])


class Geometry:
    """Vectors between models. A vector has a coefficient for each model, and its coefficients sum to 0."""

    def __init__(self, models: Sequence[Model], products: np.ndarray):
        self.models, self.products = models, products

    def vector(self, start: Model, end: Model) -> np.ndarray:
        vector = np.zeros(len(self.models))
        vector[self.models.index(end)] += 1.0
        vector[self.models.index(start)] -= 1.0
        return vector

    def inner(self, first: np.ndarray, second: np.ndarray) -> float:
        return float(first @ self.products @ second)

    def length(self, vector: np.ndarray) -> float:
        return max(0.0, self.inner(vector, vector)) ** 0.5

    def angle(self, first: np.ndarray, second: np.ndarray) -> float | None:
        """The angle between two vectors in degrees; None if a vector is zero."""
        lengths = self.length(first) * self.length(second)
        if lengths == 0:
            return None
        return float(np.degrees(np.arccos(np.clip(self.inner(first, second) / lengths, -1.0, 1.0))))

    def projection(self, vector: np.ndarray, onto: np.ndarray) -> float:
        """The projection of `vector` on the vector `onto`, in lengths of `onto`; 0 if `onto` is zero."""
        square = self.inner(onto, onto)
        return self.inner(vector, onto) / square if square > 0 else 0.0
