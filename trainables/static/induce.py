"""A dictionary of two languages from their vectors alone, by self-learning (VecMap; Artetxe et al., ACL 2018)."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from seedwise.trainables.static.mapping import normalise, orthogonal
from seedwise.trainables.static.options import AlignOptions
from seedwise.trainables.static.retrieval import crowding, match, unit

START = ("unit", "centre", "unit")  # normalisation of the sorted similarities


def induce(
    moving: np.ndarray,
    fixed: np.ndarray,
    options: AlignOptions,
    seed: int,
    *,
    start: np.ndarray | None = None,
    device: str | torch.device = "cpu",
    progress: Callable[[int, float, float], None] | None = None,
) -> np.ndarray:
    """Pairs of rows (moving, fixed): every moving word with its match, then every fixed word with its match.

    Maps and matches by turns until the objective stalls with all similarities kept (ACL 2018, section 3.3). The
    objective is the mean cosine of a word to the nearest word of the other language, over both directions. Tables must
    be normalised and ordered by frequency; only their first `cutoff` rows are used. `start` is a dictionary as pairs of
    rows; without it the start is unsupervised. The map in between is orthogonal, as in the released code; the full
    sequence of `mapping` is applied to the resulting dictionary. `progress` gets the iteration (from 1), the
    probability of keeping a similarity, and the objective.
    """
    moving, fixed = unit(moving[: options.cutoff], device), unit(fixed[: options.cutoff], device)
    pairs = torch.as_tensor(_unsupervised(moving, fixed, options) if start is None else start, device=device)
    draw = np.random.default_rng(seed)
    keep, best, improved, iteration = options.keep, -np.inf, 0, 0
    while True:
        iteration += 1
        if iteration - improved > options.patience:
            if keep >= 1:
                return pairs.cpu().numpy()
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

    Every similarity is kept with probability `keep`, independently. So the best similarity that is kept is the g-th
    best of all, with g geometric: a single draw per word, rather than a draw per pair of words.
    """

    def ranks(table: Tensor) -> Tensor:
        drawn = np.ones(len(table), dtype=np.int64) if keep >= 1 else draw.geometric(keep, len(table))
        return torch.tensor(drawn, device=table.device)

    forward, moving_cosines = match(moving, fixed, crowding(fixed, moving, k), ranks(moving), k)
    backward, fixed_cosines = match(fixed, moving, moving_cosines.mean(1), ranks(fixed), k)
    moving_rows, fixed_rows = (torch.arange(len(table), device=table.device) for table in (moving, fixed))
    pairs = torch.stack([torch.cat([moving_rows, backward]), torch.cat([forward, fixed_rows])], dim=1)
    return pairs, float((moving_cosines[:, 0].mean() + fixed_cosines[:, 0].mean()) / 2)


def _unsupervised(moving: Tensor, fixed: Tensor, options: AlignOptions) -> Tensor:
    """The first dictionary (ACL 2018, section 3.2): pairs words whose sorted similarities to their own language agree.

    Similarities are those of (X X^T)^(1/2), as in the paper.
    """
    size = min(options.start_cutoff, len(moving), len(fixed))
    rows = [unit(normalise(_profile(table[:size]), START), table.device) for table in (moving, fixed)]
    return matches(*rows, options.neighbours)[0]


def _profile(table: Tensor) -> np.ndarray:
    left, values, _ = torch.linalg.svd(table, full_matrices=False)
    return ((left * values) @ left.T).sort(dim=1).values.cpu().numpy()
