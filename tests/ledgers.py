"""A finished stitching search, made in milliseconds, with everything that a report may show."""

import random
from collections.abc import Iterator
from typing import Any

import numpy as np

from seedwise.search.ledger.state import State, replay
from seedwise.search.ranking.estimator import Estimator
from seedwise.search.ranking.results import Results
from seedwise.search.ranking.selection import Selection
from seedwise.spaces import config_id, load
from seedwise.spaces.trials import Trial

SPECIFICATION = {
    "name": "made",
    "method": "stitching",
    "space": {"epochs": 10},
    "compat": "ours",
    "baselines": {},
    "decompose": [],
    "task": {"source": "s", "targets": ["a", "b"]},
    "select": {"metric": "macro_f1", "on": "source_dev", "aggregate": "mean"},
    "resources": {"gpus_per_run": 0.5, "cpus_per_run": 2},
}
LANGUAGES = ("s", "a", "b")
BASELINE = {"baseline": "ls", "ridge": 0.0}
FAILS = "entmax"  # the weighting whose runs fail


class Uniform(Trial):
    """A trial that draws every dimension evenly, on its own scale."""

    def __init__(self, generator: random.Random):
        super().__init__(self._draw)
        self.generator = generator

    def _draw(self, name: str, dimension: Any) -> Any:
        if dimension.choices is not None:
            return self.generator.choice(dimension.choices)
        if dimension.log:
            low, high = np.log(dimension.low), np.log(dimension.high)
            value = float(np.exp(self.generator.uniform(low, high)))
        else:
            value = self.generator.uniform(dimension.low, dimension.high)
        return round(value) if dimension.integer else value


def truth(params: dict) -> float:
    """The true score: only the learning rate matters, with the optimum in the middle of its range."""
    if "lr" not in params:
        return 0.55
    return 0.8 - 0.15 * (np.log(params["lr"] / 1.5e-5)) ** 2


def events(configurations: int = 24, replicates: int = 3, fresh: int = 4) -> Iterator[dict]:
    """Lines of the ledger. Seeds move all scores together by about 0.02, and every run by 0.01 beside."""
    space, generator, noise = load("stitching", SPECIFICATION["space"]), random.Random(0), np.random.default_rng(0)
    effects, now = noise.normal(0, 0.02, 2000), 0.0
    yield {"event": "search", "name": "made", "specification": dict(SPECIFICATION), "time": now}

    def run(identity: str, params: dict, replicate: int, phase: str) -> Iterator[dict]:
        nonlocal now
        of = {"config_id": identity, "replicate": replicate, "phase": phase}
        yield {"event": "start", **of, "time": now}
        now += 10.0
        scores = truth(params) + effects[replicate] + noise.normal(0, 0.01, 3) - (0.0, 0.1, 0.2)
        metrics = {f"dev/macro_f1/{name}": float(score) for name, score in zip(LANGUAGES, scores, strict=True)}
        if phase == "confirm":
            metrics |= {f"test/macro_f1/{name}": metrics[f"dev/macro_f1/{name}"] - 0.01 for name in LANGUAGES}
        ended = {"status": "done", "metrics": metrics, "error": ""}
        if params.get("weighting") == FAILS:
            ended = {"status": "failed:nan", "metrics": {}, "error": "the loss is nan\nat step 3"}
        yield {"event": "result", **of, **ended, "seconds": 10.0 + replicate % 5, "time": now}

    known: dict[str, dict] = {}
    while len(known) < configurations:
        params = space(Uniform(generator))
        known.setdefault(config_id(params), params)
    for ask, (identity, params) in enumerate(known.items()):
        yield {"event": "ask", "config_id": identity, "params": params, "ask": ask, "time": now}
        for replicate in range(1 + ask % replicates):
            yield from run(identity, params, replicate, "search")
    yield {"event": "ask", "config_id": "pruned", "params": {**params, "k": 7}, "ask": configurations, "time": now}
    of = {"config_id": "pruned", "replicate": 0, "phase": "search"}
    yield {"event": "start", **of, "time": now}
    collapsed = {"dev/macro_f1/s": 0.1, "dev/predicted_classes/a": 1.0}
    yield {"event": "result", **of, "status": "pruned", "metrics": collapsed, "seconds": 2.0, "time": now}
    yield {"event": "ask", "config_id": "baseline", "params": BASELINE, "ask": -1, "time": now}
    for replicate in range(replicates):
        yield from run("baseline", BASELINE, replicate, "search")
    best = sorted(
        (identity for identity in known if known[identity].get("weighting") != FAILS),
        key=lambda identity: -truth(known[identity]),
    )[:2]
    yield {"event": "freeze", "because": "the budget is spent", "configs": best, "baselines": ["baseline"], "time": now}
    for identity in (*best, "baseline"):
        for replicate in range(1000, 1000 + fresh):
            yield from run(identity, known.get(identity, BASELINE), replicate, "confirm")
    yield {"event": "end", "because": "the budget is spent", "time": now}


def made(**changes: int) -> Results:
    """The results of the search, as a report gets them."""
    return findings(replay(list(events(**changes))))


def findings(state: State) -> Results:
    specification = state.search["specification"]
    return Results(
        state, Estimator(Selection.from_specification(specification)), lambda: load("stitching", specification["space"])
    )
