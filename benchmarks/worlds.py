"""Simulated worlds for a search: runs cost nothing and the true means are known.

A world has a `space`, `score(params, replicate)` (nan is a run that failed), `truth(params)`, the expectation over all
replicates with a failure counted as the lowest score there is, and `best`, the highest truth. Scores are percentages.
A score depends on the world, the canonical parameters and the replicate alone, not on the order of the calls, except
in `DigitsApart`.
"""

import hashlib
import json
import math
from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks.tables import digits
from seedwise.spaces import config_id

FRESH = 1000  # replicates from here on belong to the confirmation
SCHEDULES = ("constant", "linear", "cosine")


def bumpy(trial: Any) -> dict:
    """The space of `Bumps`: five dimensions that always matter, and a warm-up unless the schedule is constant."""
    params = {
        "rate": trial.suggest_float("rate", 1e-5, 1e-1, log=True),
        "width": trial.suggest_int("width", 8, 512, log=True),
        "decay": trial.suggest_float("decay", 1e-6, 1e-1, log=True),
        "dropout": trial.suggest_float("dropout", 0.0, 0.6),
        "schedule": trial.suggest_categorical("schedule", list(SCHEDULES)),
    }
    if params["schedule"] != "constant":
        params["warmup"] = trial.suggest_float("warmup", 0.0, 0.3)
    return params


class Bumps:
    """A random smooth function over a mixed space, a hill with peaks on it, seen through realistic noise.

    A score is the function, plus the effect of the replicate on all configurations alike (sd 1), plus Student's t with
    4 degrees of freedom (sd 1.7 at the top, three times that in bad regions). Four configurations in a hundred collapse
    on three seeds in ten: half of them report about `FLOOR`, the other half fail, which counts as `FLOOR`.
    """

    FLOOR = 30.0
    COLLAPSING, RATE = 0.04, 0.3
    REPLICATE, NOISE = 1.0, 1.7

    def __init__(self, seed: int):
        self.seed, self.space = seed, bumpy
        generator = np.random.default_rng([seed, 77])
        peaks = 5
        self.centres = generator.uniform(0.1, 0.9, (1 + peaks, 5))
        self.widths = generator.uniform(0.15, 0.45, (1 + peaks, 5))
        self.widths[0] = generator.uniform(0.5, 1.0, 5)  # the hill
        self.heights = np.concatenate([[25.0], generator.uniform(4, 12, peaks)])
        self.affinity = generator.uniform(0.3, 1.0, (len(SCHEDULES), 1 + peaks))  # of each schedule to each peak
        self.affinity[:, 0] = generator.uniform(0.85, 1.0, len(SCHEDULES))

    def score(self, params: dict, replicate: int) -> float:
        digest = hashlib.sha256(f"{self.seed}/{config_id(params)}/{replicate}".encode()).digest()
        generator = np.random.default_rng(int.from_bytes(digest[:8], "big"))
        shared = np.random.default_rng([self.seed, replicate, 78]).normal(0, self.REPLICATE)
        mean = self._mean(params)
        spread = self.NOISE * (1 + min(2.0, max(0.0, self.best - mean) / 15))
        noise = shared + spread * generator.standard_t(4) / math.sqrt(2)
        kind = self._kind(params)
        if kind and generator.random() < self.RATE:
            return math.nan if kind == "fails" else self.FLOOR + noise
        return mean + noise

    def truth(self, params: dict) -> float:
        mean = self._mean(params)
        return mean + self.RATE * (self.FLOOR - mean) if self._kind(params) else mean

    @property
    def best(self) -> float:
        return _highest(self.seed)

    def values(self, points: np.ndarray, schedule: int) -> np.ndarray:
        """The function at points of the unit cube (rate, width, decay, dropout, warm-up), n x 5."""
        distances = ((points[:, None] - self.centres) / self.widths) ** 2
        if SCHEDULES[schedule] == "constant":
            distances = distances[:, :, :4]
        return 45 + np.exp(-0.5 * distances.sum(2)) @ (self.heights * self.affinity[schedule])

    def _mean(self, params: dict) -> float:
        point = [
            math.log10(params["rate"]) / 4 + 1.25,
            math.log2(params["width"]) / 6 - 0.5,
            math.log10(params["decay"]) / 5 + 1.2,
            params["dropout"] / 0.6,
            params.get("warmup", 0.0) / 0.3,
        ]
        return float(self.values(np.array([point]), SCHEDULES.index(params["schedule"]))[0])

    def _kind(self, params: dict) -> str:
        """How a configuration collapses on some seeds: it `reports` a low score or `fails`; empty for most."""
        digest = hashlib.sha256(f"{self.seed}/collapse/{config_id(params)}".encode()).digest()
        draw = int.from_bytes(digest[:4], "big") / 2**32
        if draw >= self.COLLAPSING:
            return ""
        return "fails" if draw < self.COLLAPSING / 2 else "reports"


@lru_cache(maxsize=64)
def _highest(seed: int) -> float:
    """The highest value of the function: dense random search, then ever smaller steps from the best points."""
    world, generator, best = Bumps(seed), np.random.default_rng(0), -math.inf
    for schedule in range(len(SCHEDULES)):
        points = generator.random((4000, 5))
        for step in 0.1 * 0.7 ** np.arange(24):
            top = points[np.argsort(-world.values(points, schedule))[:30]]
            moved = np.repeat(top, 20, axis=0) + step * generator.standard_normal((600, 5))
            points = np.concatenate([top, moved.clip(0, 1)])
        best = max(best, float(world.values(points, schedule).max()))
    return best


class Digits:
    """Replays the table of real training runs; the repetition shuffles which seed is which replicate.

    A point of the space stands for the nearest configuration of the table, which is its canonical form. The search sees
    36 of the 48 seeds, beginning again after the last; fresh replicates are the other 12.
    """

    FRESH_SEEDS = 12

    def __init__(self, repetition: int):
        self.table = _table()
        self.space = _tabulated
        self.best = float(self.table.truth.max())
        self.order = np.random.default_rng([repetition, 79]).permutation(self.table.scores.shape[1])

    def column(self, replicate: int) -> int:
        """The seed of the table for a replicate."""
        shown = len(self.order) - self.FRESH_SEEDS
        fresh = replicate >= FRESH
        return int(self.order[shown + (replicate - FRESH) % self.FRESH_SEEDS if fresh else replicate % shown])

    def others(self, params: dict, taken: list[dict]) -> dict:
        """The nearest configuration to a point of the space that is not taken yet."""
        distances = self.table.distances(params)
        distances[[self.table.row(config) for config in taken]] = np.inf
        return dict(self.table.params[int(distances.argmin())])

    def score(self, params: dict, replicate: int) -> float:
        return float(self.table.scores[self.table.row(params), self.column(replicate)])

    def truth(self, params: dict) -> float:
        return float(self.table.truth[self.table.row(params)])


class DigitsApart(Digits):
    """The same table as a continuous space: every point is a separate configuration.

    A new point stands for the nearest row that no earlier point took, so a search near a known point gets a similar
    score, not the same. The row depends on the points scored before, so a world serves a single search.
    """

    def __init__(self, repetition: int):
        super().__init__(repetition)
        self.space = digits.space
        self.rows: dict[str, int] = {}  # configuration -> row

    def score(self, params: dict, replicate: int) -> float:
        if (key := config_id(params)) not in self.rows:
            self.rows[key] = self.table.row(self.others(params, [self.table.params[row] for row in self.rows.values()]))
        return float(self.table.scores[self.rows[key], self.column(replicate)])

    def truth(self, params: dict) -> float:
        return float(self.table.truth[self.rows[config_id(params)]])


class Table:
    """Scores of configurations (rows) at seeds (columns), and which row a point of the space is nearest to."""

    def __init__(self, params: list[dict], scores: np.ndarray):
        self.params, self.scores = params, scores
        self.truth = scores.mean(axis=1, dtype=np.float64)
        self.features = np.array([_scaled(row) for row in params])

    def row(self, params: dict) -> int:
        return int(self.distances(params).argmin())

    def distances(self, params: dict) -> np.ndarray:
        return np.square(self.features - _scaled(params)).sum(axis=1)


def _scaled(params: dict) -> list[float]:
    """A point of the table's space with every dimension in 0 to 1; an absent dimension lies in the middle."""
    return [
        float(params["optimizer"] == "adam"),
        math.log(params["rate"] / 2e-3) / math.log(0.5 / 2e-3),
        math.log(params["hidden"] / 12) / math.log(128 / 12),
        math.log(params["batch"] / 4) / math.log(32 / 4),
        (params["epochs"] - 8) / 22,
        math.log(params["decay"] / 1e-5) / math.log(2e-2 / 1e-5),
        params["dropout"] / 0.6,
        float(params["activation"] == "tanh"),
        params.get("momentum", 0.475) / 0.95,
    ]


@lru_cache(maxsize=1)
def _table() -> Table:
    with np.load(digits.FILE) as file:
        return Table(json.loads(str(file["params"])), file["scores"])


def _tabulated(trial: Any) -> dict:
    return digits.space(trial)


def _nearest(params: dict) -> dict:
    table = _table()
    return dict(table.params[table.row(params)])


_tabulated.canonical = _nearest
WORLDS = {"bumps": Bumps, "digits": Digits, "digits-apart": DigitsApart}
