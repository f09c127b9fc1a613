import itertools
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seedwise.errors import RequestError
from seedwise.search.decide.halving import Halving
from seedwise.search.decide.next_run import freeze, next_run
from seedwise.search.decide.policy import FRESH, Confirmation, Fixed, New, Policy, Replicate, Stop, options_of
from seedwise.search.decide.race import Race
from seedwise.search.ledger.state import CONFIRM, State, replay
from seedwise.search.ranking.estimator import Estimator
from seedwise.search.ranking.selection import Selection
from tests.simulate import drive as simulated
from tests.simulate import engine

ESTIMATOR = Estimator(Selection("value", "metric", "mean", "", ()))
OUTCOMES = st.sampled_from([("done", {"value": 0.5}), ("done", {"value": 0.6}), ("failed:nan", {})])


def drive(policy, workers: int, orders: st.DataObject, *, cut_after: int | None = None) -> State:
    """Run a policy to its end without Ray: `workers` at once, finishing in any order, with at most one kill."""
    state, running, names = State(), [], itertools.count()
    state.apply({"event": "search", "time": 0.0})
    for events in itertools.count():
        if events == cut_after:
            running.clear()
            state.apply({"event": "search", "time": 0.0})
        action = policy.next_action(state)
        if len(running) < workers and not isinstance(action, Stop):
            if isinstance(action, New):
                name = f"c{next(names)}"
                state.apply({"event": "ask", "config_id": name, "params": {}, "ask": len(state.configurations)})
                action = Replicate(name, 0, "")
            key = (action.config_id, action.replicate)
            assert key not in running, "a run was started while it runs"
            known = state.configurations[key[0]].runs.get(key[1])
            assert known is None or not known.finished, "a finished run was started again"
            running.append(key)
            state.apply({"event": "start", "config_id": key[0], "replicate": key[1], "phase": "search"})
        elif running:
            config_id, replicate = running.pop(orders.draw(st.integers(0, len(running) - 1)))
            status, metrics = orders.draw(OUTCOMES)
            run = {"config_id": config_id, "replicate": replicate, "phase": "search"}
            state.apply({"event": "result", **run, "status": status, "metrics": metrics, "seconds": 1})
        else:
            return state
    raise AssertionError


@given(st.data(), st.integers(1, 5), st.integers(1, 30), st.integers(1, 6), st.integers(0, 60))
def test_every_configuration_gets_the_same_replicates_after_any_kill(data, n, runs, workers, cut):
    runs = max(n, runs)
    state = drive(Fixed(estimator=ESTIMATOR, n=n, runs=runs), workers, data, cut_after=cut)
    assert len(state.configurations) == runs // n
    for configuration in state.configurations.values():
        assert sorted(configuration.runs) == list(range(n))
        assert all(run.finished for run in configuration.runs.values())


@settings(max_examples=12)
@given(st.data(), st.integers(1, 3), st.integers(0, 4), st.integers(6, 40), st.integers(1, 6), st.integers(0, 60))
def test_racing_and_halving_spend_exactly_their_budget_and_never_idle(data, least, more, runs, workers, cut):
    for policy in (
        Race(estimator=ESTIMATOR, min=least, max=least + more, runs=runs, reserve=4),
        Halving(estimator=ESTIMATOR, min=least, max=4 * least, eta=2, runs=runs, reserve=4),
    ):
        state = drive(policy, workers, data, cut_after=cut)
        assert sum(1 for _ in state.runs()) == runs - 4
        for configuration in state.configurations.values():
            assert sorted(configuration.runs) == list(range(len(configuration.runs)))  # paired, without gaps
            assert len(configuration.runs) <= policy.max


def test_begun_configurations_are_completed_after_the_time_limit():
    state = State()
    state.apply({"event": "search", "time": 0.0})
    state.apply({"event": "ask", "config_id": "a", "params": {}, "ask": 0, "time": 0.0})
    state.apply({"event": "start", "config_id": "a", "replicate": 0, "phase": "search", "time": 7300.0})
    policy = Fixed(estimator=ESTIMATOR, n=2, hours=2)
    assert policy.next_action(state) == Replicate("a", 1, "seed 2 of 2")
    state.apply({"event": "start", "config_id": "a", "replicate": 1, "phase": "search", "time": 7300.0})
    assert policy.next_action(state) == Stop("the budget of 2 hours is spent")
    assert Race(estimator=ESTIMATOR, hours=2).next_action(state) == Stop("the budget of 2 hours is spent")


def state_of(scores: dict[str, list[float]], *, time: float = 0.0) -> State:
    """Configurations with finished runs at replicates 0, 1, ..."""
    events = [{"event": "search", "time": 0.0}]
    for ask, (config_id, values) in enumerate(scores.items()):
        events.append({"event": "ask", "config_id": config_id, "params": {}, "ask": ask, "time": 0.0})
        for replicate, value in enumerate(values):
            run = {"config_id": config_id, "replicate": replicate, "phase": "search", "time": time}
            events.append({"event": "start", **run})
            events.append({"event": "result", **run, "status": "done", "metrics": {"value": value}, "seconds": 1})
    return replay(events)


GOOD = {"a": [0.80, 0.82], "b": [0.79, 0.81], "c": [0.70, 0.71]}


def test_a_race_replicates_configurations_that_may_be_best_and_drops_the_others():
    race = Race(estimator=ESTIMATOR, min=2, runs=100)
    assert race.next_action(state_of({**GOOD, "new": [0.82]})) == Replicate("new", 1, "seed 2 of at least 2")
    assert isinstance(race.next_action(state_of({**GOOD, "new": [0.10]})), New)


def test_a_race_explores_first_and_then_replicates_those_that_may_be_best():
    state = state_of(GOOD)
    assert isinstance(Race(estimator=ESTIMATOR, runs=100).next_action(state), New)
    late, chosen = Race(estimator=ESTIMATOR, runs=100, explore=0.05), Counter()
    for _ in range(12):
        action = late.next_action(state)
        chosen[action.config_id] += 1
        state.apply({"event": "start", "config_id": action.config_id, "replicate": action.replicate, "phase": "search"})
    assert chosen["a"] >= 3
    assert chosen["b"] >= 3  # pending runs count: the workers do not all go to one
    assert chosen["c"] == 0
    assert max(len(configuration.runs) for configuration in state.configurations.values()) <= late.max


def test_a_race_ends_early_only_when_asked_and_sure():
    draw = np.random.default_rng(0)
    clear = {f"c{i}": (0.5 + draw.normal(0, 0.005, 4)).tolist() for i in range(11)} | {"best": [0.9, 0.91, 0.9, 0.9]}
    state = state_of(clear)
    assert isinstance(Race(estimator=ESTIMATOR, runs=500).next_action(state), New)
    assert Race(estimator=ESTIMATOR, runs=500, p_best=0.95).next_action(state) == Stop("P(best) of best is 1.00")
    assert isinstance(Race(estimator=ESTIMATOR, runs=500, regret=0.001).next_action(state), Stop)
    few = state_of({"a": [0.9, 0.9], "b": [0.1, 0.1]})  # two configurations are too few to stop
    assert not isinstance(Race(estimator=ESTIMATOR, runs=500, p_best=0.5).next_action(few), Stop)


def test_halving_promotes_the_best_third():
    scores = {f"c{i}": [0.1 * i] for i in range(6)}
    halving = Halving(estimator=ESTIMATOR, min=1, max=9, eta=3, runs=100)
    assert halving.rungs() == [1, 3, 9]
    assert halving.next_action(state_of(scores)) == Replicate("c5", 1, "promoted to 3 seeds")
    scores |= {"c5": [0.5] * 3, "c4": [0.4] * 3}
    assert isinstance(halving.next_action(state_of(scores)), New)
    full = replace(halving, runs=13)  # enough for six configurations, and all were proposed
    assert halving.configurations() == 100 // (1 + 4 / 3)
    assert full.next_action(state_of(scores)) == Replicate("c3", 1, "promoted to 3 seeds")


def test_the_confirmation_runs_the_frozen_configurations_at_fresh_replicates():
    state = state_of(GOOD)
    state.apply({"event": "freeze", "because": "over", "configs": ["b", "a"]})
    confirmation, done = Confirmation(fresh=2), []
    while not isinstance(action := confirmation.next_action(state), Stop):
        assert action.phase == CONFIRM
        assert action.phase == "confirm"
        done.append((action.config_id, action.replicate))
        state.apply({"event": "start", "config_id": done[-1][0], "replicate": done[-1][1], "phase": "confirm"})
    assert done == [("b", FRESH), ("b", FRESH + 1), ("a", FRESH), ("a", FRESH + 1)]


def test_pruned_configurations_get_nothing_more_and_others_wait_for_their_first_run():
    state = State()
    for event in ("ask", "start", "result"):
        run = {"config_id": "a", "replicate": 0, "phase": "search", "params": {}, "ask": 0}
        state.apply({"event": event, **run, "status": "pruned", "metrics": {}, "seconds": 1})
    for policy in (
        Fixed(estimator=ESTIMATOR, n=3, runs=30, prune=True),
        Race(estimator=ESTIMATOR, runs=30, prune=True),
    ):
        assert isinstance(policy.next_action(state), New)
    state.apply({"event": "ask", "config_id": "b", "params": {}, "ask": 1})
    state.apply({"event": "start", "config_id": "b", "replicate": 0, "phase": "search"})
    fixed = Fixed(estimator=ESTIMATOR, n=3, runs=30, prune=True)
    assert isinstance(fixed.next_action(state), New)
    assert replace(fixed, runs=4).next_action(state) == Replicate("b", 1, "seed 2 of 3")  # better than an idle worker


@pytest.mark.parametrize(("points", "workers"), [(1, 1), (3, 4), (6, 16)])
@pytest.mark.parametrize(
    "replicates",
    [
        {"policy": "race", "max": 5, "confirm": {"top": 0}},
        {"policy": "halving", "max": 4, "eta": 2, "confirm": {"top": 0}},
    ],
)
@pytest.mark.parametrize("prune", ["off", "asha"])
def test_a_small_space_is_used_up_at_any_number_of_workers(workers, points, replicates, prune):
    """More workers than points: everything is pending before the first result, and no action may be Stop."""
    most = replicates["max"]

    class Points:
        def space(self, trial):
            return {"x": trial.suggest_int("x", 1, points)}

        def score(self, params, replicate):
            return float(params["x"])

    policy, proposer = engine(Points().space, replicates=replicates, runs=100, sampler="random", prune=prune)
    state = State()
    state.apply({"event": "search", "time": 0.0})
    list(simulated(Points(), state, policy, proposer, workers=workers, seconds=lambda params, replicate: 1.0))
    assert [len(configuration.runs) for configuration in state.configurations.values()] == [most] * points


def test_a_configuration_proposed_but_not_started_is_not_lost():
    """The search was killed between the lines `ask` and `start`."""
    state = state_of(GOOD)
    state.apply({"event": "ask", "config_id": "lost", "params": {}, "ask": 9})
    state.apply({"event": "search", "time": 1.0})
    for policy in (
        Race(estimator=ESTIMATOR, runs=30),
        Halving(estimator=ESTIMATOR, runs=30),
        Fixed(estimator=ESTIMATOR, n=2, runs=30),
    ):
        action = policy.next_action(state)
        assert (action.config_id, action.replicate) == ("lost", 0)


def test_configurations_without_a_success_are_not_confirmed():
    state = state_of({"a": [0.5, 0.6], "b": [0.4, 0.5]})
    for config_id in ("c", "d"):
        run = {"config_id": config_id, "replicate": 0, "phase": "search"}
        state.apply({"event": "ask", "config_id": config_id, "params": {}, "ask": 9})
        state.apply({"event": "start", **run})
        state.apply({"event": "result", **run, "status": "failed:oom", "metrics": {}, "seconds": 1})
    event = freeze(state, Estimator(ESTIMATOR.selection), "over", 3)
    assert event["configs"] == ["a", "b"]
    assert event["estimates"].keys() == {"a", "b", "c", "d"}


def test_a_users_policy_may_use_the_names_of_version_0_8():
    state = state_of(GOOD)
    assert Fixed(estimator=ESTIMATOR).standing.of(state) is ESTIMATOR.estimate(state)


@dataclass(frozen=True, kw_only=True)
class Alternating(Policy):
    """A user's policy: every configuration twice."""

    times: int = 2

    def choose(self, state, *, more):
        for configuration in state.configurations.values():
            if len(configuration.runs) < self.times:
                return Replicate(configuration.config_id, len(configuration.runs), "again")
        return New("next")


def test_a_users_policy_is_named_by_its_path():
    name = "tests.search.decide.test_policy:Alternating"
    policy, proposer = engine(lambda trial: {"x": trial.suggest_float("x", 0, 1)}, replicates={"policy": name}, runs=20)
    assert isinstance(policy, Alternating)
    assert {key: default for key, (_, default) in options_of(name).items()} == {"times": 2}
    state = State()
    state.apply({"event": "search"})
    for _ in range(4):
        for event in next_run(state, policy, proposer).events:
            state.apply(event)
    assert [len(configuration.runs) for configuration in state.configurations.values()] == [2, 2]
    assert policy.spent(state) is None
    assert policy.spent(state_of({"a": [0.1, 0.2], "b": [0.1, 0.2], "c": [0.3]})) is not None  # 20 - 3 * 5


@pytest.mark.parametrize(
    ("replicates", "message"),
    [
        ({"policy": "rase"}, "replicates.policy: there is no policy 'rase'. Did you mean race?"),
        ({"policy": "race", "n": 3}, "replicates.n: there is no such key."),
        ({"policy": "race", "min": 4, "max": 3}, "replicates.max: 3 is below min: 4."),
        ({"policy": "race", "explore": 0}, "replicates.explore: 0 is wrong: input should be greater than 0."),
        ({"policy": "race", "min": "two"}, "replicates.min: 'two' is wrong: input should be a valid integer."),
        ({"policy": "race", "surrogate": 1}, "replicates.surrogate: 1 is wrong: input should be a valid boolean."),
        ({"policy": "fixed", "n": 0}, "replicates.n: 0 is wrong: input should be greater than or equal to 1."),
        ({"policy": "halving", "eta": 1}, "replicates.eta: 1 is wrong: input should be greater than or equal to 2."),
        ({"policy": "tests.search.decide.test_policy:state_of"}, "is not a seedwise.search.decide.policy.Policy"),
    ],
)
def test_wrong_options_are_one_line(replicates, message):
    with pytest.raises(RequestError) as error:
        engine(lambda trial: {"x": trial.suggest_float("x", 0, 1)}, replicates=replicates, runs=100)
    assert message in str(error.value)
