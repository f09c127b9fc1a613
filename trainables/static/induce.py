"""A dictionary of two languages from their vectors alone, by self-learning (VecMap; Artetxe et al., ACL 2018)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from seedwise.trainables.static.align_options import AlignOptions
from seedwise.trainables.static.mapping import orthogonal
from seedwise.trainables.static.normalise import normalise
from seedwise.trainables.static.retrieval import crowding, match, unit

START = ("unit", "centre", "unit")  # normalisation of the sorted similarities

Progress = Callable[[int, float, float], None]  # iteration from 1, probability of being kept, objective


@dataclass(frozen=True)
class Induced:
    """Pairs of rows (moving, fixed): the match of every moving word, then that of every fixed word."""

    pairs: np.ndarray
    objective: float  # mean cosine of a word to the nearest of the other language, over both directions
    iterations: int


def induce(
    moving: np.ndarray,
    fixed: np.ndarray,
    options: AlignOptions,
    seed: int,
    *,
    start: np.ndarray | None = None,
    device: str | torch.device = "cpu",
    progress: Progress | None = None,
) -> Induced:
    """Map, match, map, ... until the objective stalls with all similarities kept (ACL 2018, section 3.3).

    Tables are normalised and ordered by frequency; only their first `cutoff` rows are looked at. `start` is a
    dictionary as pairs of rows; without one the start is unsupervised. The map in between is orthogonal, as in the
    released code; the full sequence of `mapping` is for the dictionary that results.
    """
    moving, fixed = unit(moving[: options.cutoff], device), unit(fixed[: options.cutoff], device)
    pairs = torch.as_tensor(_unsupervised(moving, fixed, options) if start is None else start, device=device)
    draw = np.random.default_rng(seed)
    keep, best, improved, iteration = options.keep, -np.inf, 0, 0
    while True:
        iteration += 1
        if iteration - improved > options.patience:
            if keep >= 1:
                return Induced(pairs.cpu().numpy(), best, iteration - 1)
            keep, improved = min(1.0, keep * options.keep_factor), iteration
        rotation = orthogonal((moving[pairs[:, 0]].T @ fixed[pairs[:, 1]]).double().cpu().numpy())
        mapped = normalize(moving @ torch.tensor(rotation, dtype=moving.dtype, device=device), dim=1)
        pairs, objective = matches(mapped, fixed, options.neighbours, keep, draw)
        if objective >= best + options.threshold:
            best, improved = objective, iteration
        if progress:
            progress(iteration, keep, objective)


def matches(
    moving: Tensor, fixed: Tensor, k: int, keep: float = 1.0, draw: np.random.Generator | None = None
) -> tuple[Tensor, float]:
    """The best match of every word in both directions, by CSLS, and the objective.

    Every similarity is kept with probability `keep`, independently. The best of those that are kept is thus the g-th
    best of all, with g geometric: one number to draw for a word, rather than one for each pair of words.
    """

    def ranks(table: Tensor) -> Tensor:
        drawn = np.ones(len(table), dtype=np.int64) if keep >= 1 else draw.geometric(keep, len(table))
        return torch.tensor(drawn, device=table.device)

    forward, of_moving = match(moving, fixed, crowding(fixed, moving, k), ranks(moving), k)
    backward, of_fixed = match(fixed, moving, of_moving.mean(1), ranks(fixed), k)
    here, there = (torch.arange(len(table), device=table.device) for table in (moving, fixed))
    pairs = torch.stack([torch.cat([here, backward]), torch.cat([forward, there])], dim=1)
    return pairs, float((of_moving[:, 0].mean() + of_fixed[:, 0].mean()) / 2)


def _unsupervised(moving: Tensor, fixed: Tensor, options: AlignOptions) -> Tensor:
    """The first dictionary (ACL 2018, section 3.2): words whose sorted similarities to their own language are alike.

    Similarities are those of (X X^T)^(1/2), as in the paper.
    """
    size = min(options.start_cutoff, len(moving), len(fixed))
    rows = [unit(normalise(_profile(table[:size]), START), table.device) for table in (moving, fixed)]
    return matches(*rows, options.neighbours)[0]


def _profile(table: Tensor) -> np.ndarray:
    left, values, _ = torch.linalg.svd(table, full_matrices=False)
    return ((left * values) @ left.T).sort(dim=1).values.cpu().numpy()
