"""How long the engine computes: per decision late in a large search, and for one estimate of a very large table.

python -m benchmarks.racing --decisions --estimate
"""

import statistics
import time
from functools import partial

import numpy as np
import optuna
from threadpoolctl import threadpool_limits

from benchmarks.worlds import Bumps
from seedwise.search.ledger.state import State
from seedwise.search.ranking.estimate import Table, estimate
from seedwise.spaces import Space, config_id
from seedwise.spaces.features import features
from tests.simulate import engine

CONFIGURATIONS, REPLICATES = (500, 750, 1000), 5
TIMES = 9  # timed decisions at each size; the median is printed
DECISION_LIMIT, ESTIMATE_LIMIT = 0.3, 0.2  # seconds


def decisions() -> None:
    """A ledger of 1000 configurations at 5 replicates, grown event by event; after each new result one decision."""
    world, medians = Bumps(0), {}
    policy, proposer = engine(world.space, replicates={"policy": "race"}, runs=20 * max(CONFIGURATIONS))
    state, drawn = State(), iter(_points(max(CONFIGURATIONS)))
    state.apply({"event": "search", "time": 0.0, "search_id": "decisions"})
    for size in CONFIGURATIONS:
        while len(state.configurations) < size:
            params = next(drawn)
            event = {"config_id": config_id(params), "params": params, "suggested": params}
            state.apply({"event": "ask", **event, "ask": state.next_ask})
            for replicate in range(REPLICATES):
                _finish(state, world, event["config_id"], replicate)
        waits = [_decision(state, world, policy, proposer, REPLICATES, index) for index in range(TIMES)]
        medians[size] = statistics.median(waits)
        print(
            f"decision with {size} configurations and {sum(1 for _ in state.runs())} results, Optuna's ask included: "
            f"{1000 * medians[size]:.0f} ms (slowest {1000 * max(waits):.0f}), "
            f"of 300 ms {medians[size] / DECISION_LIMIT:.2f} (goal: 1)"
        )
    first, last = medians[min(CONFIGURATIONS)], medians[max(CONFIGURATIONS)]
    print(f"growth over the last half of the search: {last / first:.2f}x")


def estimates() -> None:
    """2000 configurations at 10 replicates: means, sds, P(best), expected regret, and who is tied with the best."""
    world, params = Bumps(0), _points(2000)
    values = np.array([[world.score(config, replicate) for replicate in range(10)] for config in params])
    none = np.zeros(values.shape, dtype=bool)
    table = Table(tuple(map(config_id, params)), values, none, none)
    points = features(Space(world.space), params)
    for name, where in {"common mean": None, "surrogate": points}.items():
        waits = []
        for _ in range(5):
            start = time.perf_counter()
            with threadpool_limits(1):
                result = estimate(table, where)
                _ = result.p_best, result.regret, result.tied
            waits.append(time.perf_counter() - start)
        seconds = statistics.median(waits)
        print(
            f"estimate of 2000 configurations x 10 replicates, {name}: {1000 * seconds:.0f} ms, "
            f"of 200 ms {seconds / ESTIMATE_LIMIT:.2f} (goal: 1)"
        )


def _points(count: int) -> list[dict]:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    space = Space(Bumps(0).space)
    return [space(study.ask()) for _ in range(count)]


def _finish(state: State, world: Bumps, identity: str, replicate: int) -> None:
    score = world.score(state.configurations[identity].params, replicate)
    event = {"config_id": identity, "replicate": replicate, "phase": "search"}
    state.apply({"event": "start", **event, "because": ""})
    ended = (
        {"status": "failed:nan", "metrics": {}} if np.isnan(score) else {"status": "done", "metrics": {"value": score}}
    )
    state.apply({"event": "result", **event, **ended, "seconds": 60.0})


def _decision(state: State, world: Bumps, policy: object, proposer: object, replicate: int, index: int) -> float:
    """Seconds of one decision after a new result: what to do, and with which configuration."""
    identity = list(state.configurations)[-1 - index]
    _finish(state, world, identity, replicate)
    start = time.perf_counter()
    policy.next_action(state)
    proposer.propose(state, partial(policy.repeats, state))
    return time.perf_counter() - start
