"""The whole engine on simulated searches: decisions follow from the ledger, and the optimum is found."""

import hashlib
import math

import numpy as np
import pytest

from seedwise.search.decide.next_run import freeze, next_run
from seedwise.search.decide.policy import Confirmation, Stop
from seedwise.search.ledger.state import replay
from tests.simulate import engine, simulate

RACE = {"policy": "race", "min": 2, "max": 6, "confirm": {"top": 2, "fresh": 3}}


class Hill:
    """Two numbers and a choice: the maximum is 1.0 at (0.3, 0.6, a). Seed and noise have sd 0.05 each."""

    best = 1.0

    def __init__(self, seed: int = 0, *, fails: bool = False):
        self.seed, self.fails = seed, fails

    @staticmethod
    def space(trial) -> dict:
        kind = trial.suggest_categorical("kind", ["a", "b"])
        return {"kind": kind, "x": trial.suggest_float("x", 0, 1), "y": trial.suggest_float("y", 0, 1)}

    def truth(self, params: dict) -> float:
        return 1 - (params["x"] - 0.3) ** 2 - (params["y"] - 0.6) ** 2 - 0.2 * (params["kind"] == "b")

    def score(self, params: dict, replicate: int) -> float:
        if self.fails and self._normal(params["x"], replicate) > 1.2:
            return math.nan
        noise = self._normal(tuple(params.values()), replicate) + self._normal("replicate", replicate)
        return self.truth(params) + 0.05 * noise

    def _normal(self, *parts) -> float:
        digest = hashlib.sha256(repr((self.seed, *parts)).encode()).digest()
        return np.random.default_rng(int.from_bytes(digest[:8], "big")).normal()


@pytest.mark.parametrize(
    ("replicates", "sampler", "fails"),
    [
        (RACE, "tpe", True),
        ({**RACE, "surrogate": False}, "random", False),
        ({"policy": "halving", "min": 1, "max": 4, "eta": 2, "confirm": {"top": 1, "fresh": 2}}, "tpe", True),
        ({"policy": "fixed", "n": 3, "confirm": {"top": 1, "fresh": 2}}, "tpe", True),
    ],
)
def test_the_ledger_cut_after_every_line_gives_the_same_next_action(replicates, sampler, fails):
    world = Hill(1, fails=fails)
    outcome = simulate(world, replicates=replicates, runs=40, sampler=sampler, workers=3, seed=4)
    policy, proposer = engine(Hill.space, replicates=replicates, runs=40, sampler=sampler, seed=4)
    confirmation = Confirmation(replicates["confirm"]["fresh"])
    checked = 0
    for index, event in enumerate(outcome.events):
        state = replay(outcome.events[:index])
        if event["event"] == "freeze":
            again = freeze(state, proposer.estimator, event["because"], replicates["confirm"]["top"])
            assert again == {key: value for key, value in event.items() if key != "time"}
        decided = event["event"] == "ask" or (event["event"] == "start" and outcome.events[index - 1]["event"] != "ask")
        if decided:
            decision = next_run(state, confirmation if state.stopped else policy, proposer)
            lines = outcome.events[index : index + len(decision.events)]
            assert decision.events == [{key: line[key] for key in line if key != "time"} for line in lines]
            checked += 1
    assert checked == sum(event["event"] == "start" for event in outcome.events) >= 38


def test_no_worker_idles_while_budget_is_left():
    """With runs of very different lengths, 5 workers finish almost as early as with a perfect packing."""
    lengths = {}

    def seconds(params, replicate):
        lengths[tuple(params.values()), replicate] = length = 1 + 99 * params["x"]
        return length

    outcome = simulate(Hill(), replicates={**RACE, "confirm": {"top": 0}}, runs=60, workers=5, seconds=seconds)
    total = sum(lengths.values())
    assert outcome.state.last_time < total / 5 + 100  # a list schedule is at most one run longer than its share


def test_the_time_limit_ends_a_search():
    outcome = simulate(Hill(), replicates={**RACE, "confirm": {"top": 1, "fresh": 2}}, hours=0.5, workers=2)
    searched = list(outcome.state.runs_of("search"))
    assert 60 <= len(searched) <= 62  # a minute each, two at a time
    policy, proposer = engine(Hill.space, replicates=RACE, hours=0.5)
    assert isinstance(next_run(outcome.state, policy, proposer).run, Stop)


@pytest.mark.parametrize("count", [6, pytest.param(12, marks=pytest.mark.extended)])
def test_a_race_finds_better_than_five_seeds_for_everyone(count):
    """Paired over worlds; the benchmark has the figures, this test checks their sign."""
    regrets = {}
    for name, replicates in {"race": {"policy": "race"}, "fixed": {"policy": "fixed", "n": 5}}.items():
        worlds = [Hill(seed) for seed in range(count)]
        outcomes = [
            simulate(world, replicates={**replicates, "confirm": {"top": 0}}, runs=60, seed=world.seed)
            for world in worlds
        ]
        regrets[name] = np.mean(
            [world.best - world.truth(outcome.params) for world, outcome in zip(worlds, outcomes, strict=True)]
        )
    assert regrets["race"] < 0.8 * regrets["fixed"]


def test_the_confirmation_is_free_of_the_optimism_of_the_search():
    """Over many searches the mean of three fresh seeds is unbiased; the search score of the choice is too high."""
    fresh, own = [], []
    for seed in range(16):
        world = Hill(100 + seed)
        replicates = {"policy": "fixed", "n": 1, "confirm": {"top": 1, "fresh": 3}}
        outcome = simulate(world, replicates=replicates, runs=30, sampler="random", seed=seed)
        truth = world.truth(outcome.params)
        fresh.append(outcome.confirmed.mean - truth)
        own.append(max(run.metrics["value"] for run in outcome.state.runs_of("search")) - truth)
    error = np.std(fresh, ddof=1) / len(fresh) ** 0.5
    assert abs(np.mean(fresh)) < 3 * error
    assert np.mean(own) > np.mean(fresh) + 3 * error


def test_a_space_that_is_used_up_ends_in_replicates():
    def space(trial):
        return {"kind": trial.suggest_categorical("kind", ["a", "b"]), "x": 0.3, "y": 0.6}

    world = Hill()
    world.space = space
    outcome = simulate(world, replicates={"policy": "race", "min": 2, "max": 6, "confirm": {"top": 0}}, runs=40)
    assert [len(configuration.runs) for configuration in outcome.state.configurations.values()] == [6, 6]
    assert outcome.params["kind"] == "a"
