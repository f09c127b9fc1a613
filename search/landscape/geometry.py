"""Where trained models lie to each other: lengths, angles and shares of directions, from their inner products."""

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from seedwise.files import write_atomically

BLOCK = 1 << 20  # numbers of each model that are looked at together


def inner_products(paths: Sequence[Path], block: int = BLOCK) -> np.ndarray:
    """Inner products of the differences between models and the first of them, in float64, block by block.

    Differences, because the models lie close together and far from zero: products of their own parameters would lose
    in rounding what tells them apart. Blocks, because the word tables of a dozen models are more than a machine has.
    """
    from safetensors import safe_open

    files = [safe_open(path, framework="numpy") for path in paths]
    found = np.zeros((len(paths), len(paths)))
    for name in files[0].keys():  # noqa: SIM118 (no mapping)
        for blocks in _blocks([file.get_slice(name) for file in files], block):
            rows = np.stack(blocks).astype(np.float64)
            rows -= rows[0]
            found += rows @ rows.T
    return found


def _blocks(tensors: list, block: int) -> Iterator[list[np.ndarray]]:
    """Slices of tensors of one shape, some rows of all of them at a time, each as a vector."""
    shape = tensors[0].get_shape()
    if not shape:
        yield [np.reshape(tensor[...], 1) for tensor in tensors]
        return
    step = max(1, block // max(1, math.prod(shape[1:])))
    for start in range(0, shape[0], step):
        yield [np.asarray(tensor[start : min(start + step, shape[0])]).ravel() for tensor in tensors]


def kept_products(target: str, paths: Sequence[Path], kept: Path) -> np.ndarray | None:
    """The same, computed once: the file `kept` has those of every target, and the names of the models they are of.

    So a report can be written again where the models themselves are not. None where neither is there, or a model is
    damaged: curves need no geometry.
    """
    from safetensors import SafetensorError

    names = [path.name for path in paths]
    known = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    if known.get(target, {}).get("models") != names:
        try:
            known[target] = {"models": names, "products": inner_products(paths).tolist()}
        except (FileNotFoundError, SafetensorError):
            return None
        write_atomically(kept, json.dumps(known) + "\n")
    return np.array(known[target]["products"])


class Geometry:
    """Models by their place in `inner_products`; a vector is a combination of models whose coefficients sum to 0."""

    def __init__(self, products: np.ndarray):
        self.products = products

    def minus(self, one: int, other: int) -> np.ndarray:
        """The vector from model `other` to model `one`."""
        vector = np.zeros(len(self.products))
        vector[one] += 1.0
        vector[other] -= 1.0
        return vector

    def inner(self, one: np.ndarray, other: np.ndarray) -> float:
        return float(one @ self.products @ other)

    def length(self, vector: np.ndarray) -> float:
        return max(0.0, self.inner(vector, vector)) ** 0.5

    def angle(self, one: np.ndarray, other: np.ndarray) -> float | None:
        """In degrees; None where one of them has no length."""
        lengths = self.length(one) * self.length(other)
        if lengths == 0:
            return None
        return float(np.degrees(np.arccos(np.clip(self.inner(one, other) / lengths, -1.0, 1.0))))

    def share(self, vector: np.ndarray, along: np.ndarray) -> float:
        """How far a vector goes along another one, in lengths of that one; 0 where it has none."""
        whole = self.inner(along, along)
        return self.inner(vector, along) / whole if whole > 0 else 0.0
