"""Runs that do the same work, on Ray's real key-value store: only the first computes it."""

import itertools
import time
from dataclasses import replace
from types import SimpleNamespace
from typing import ClassVar

import pytest

from seedwise.search.cluster.ray_internals import kv_put
from seedwise.search.execution import shared_results
from seedwise.search.execution.coordination import begin_together
from seedwise.search.execution.messages import Outcome
from seedwise.search.execution.shared_results import SharedResults
from tests.methods import Draws, Quadratic
from tests.search.execution.test_worker import results, step, trainable

SESSIONS = (f"session/{number}" for number in itertools.count())


pytestmark = pytest.mark.usefixtures("ray_here")


@pytest.fixture
def session():
    return next(SESSIONS)


class Marked(Quadratic):
    """Its score depends on x rounded down, and so does its fingerprint."""

    epochs = 3
    done: ClassVar[list] = []  # every epoch that was really computed

    def __init__(self, inputs, params, streams, device):
        self.offered = params["x"]
        super().__init__(inputs, {**params, "x": int(params["x"])}, streams, device)

    def epoch(self, number):
        self.done.append((self.offered, number))
        return super().epoch(number)

    def constants(self):
        return {"offered": self.offered}

    def fingerprint(self, tests):
        return f"{self.params['x']} {self.streams.seed('order')}"


def started(session, x, replicate=0, **changes):
    name = {"config_id": f"x={x}", "replicate": replicate, "session": session}
    return trainable(Marked, params={"x": x}, **name, **changes)


def another(made):
    """Its worker continues with another run."""
    made.reset_config(replace(made.order, params={"x": 5.0}, config_id="another").as_dict())


@pytest.fixture(autouse=True)
def nothing_done():
    Marked.done.clear()


def metrics(results):
    return [{name: value for name, value in result.metrics.items() if name != "offered"} for result in results]


def test_the_second_run_takes_the_results_of_the_first(session):
    first = results(started(session, 0.2))
    second = results(started(session, 0.7))
    assert metrics(second) == metrics(first)
    assert Marked.done == [(0.2, 0), (0.2, 1), (0.2, 2)]
    assert [result.same_as for result in first] == ["", "", ""]
    assert {result.same_as for result in second} == {"x=0.2/0"}
    assert (first[-1].metrics["offered"], second[-1].metrics["offered"]) == (0.2, 0.7)  # each run has its own
    assert first[-1].fingerprint == second[-1].fingerprint
    assert [result.seconds for result in second] == [result.seconds for result in first]  # the cost of the work


def test_a_run_with_shared_results_draws_no_pictures(session, monkeypatch):
    monkeypatch.setattr(Marked, "pictures", Draws.pictures)
    drawn = []
    for x in (0.2, 0.7):
        drawn.append([bool(result.pictures) for result in results(started(session, x, draw=True))])
    assert drawn == [[False, False, True], [False, False, False]]


def test_other_seeds_and_other_sessions_share_nothing(session):
    results(started(session, 0.2))
    for other in (started(session, 0.7, replicate=1), started(next(SESSIONS), 0.7)):
        assert {result.same_as for result in results(other)} == {""}
    assert len(Marked.done) == 9


def test_the_second_run_continues_when_the_first_leaves_and_gets_the_same_scores(session):
    whole = metrics(results(started(next(SESSIONS), 0.2)))
    first, second = started(session, 0.2), started(session, 0.7)
    steps = [(step(first), step(second))[1]]
    another(first)  # for example, the run was pruned
    steps += [step(second), step(second)]
    assert metrics(steps) == whole
    assert [result.same_as for result in steps] == ["x=0.2/0", "", ""]
    assert steps[-1].done


def test_the_second_run_takes_over_when_the_heartbeat_of_the_first_is_too_old(session, monkeypatch):
    whole = metrics(results(started(next(SESSIONS), 0.2)))
    monkeypatch.setattr(shared_results, "SILENCE_SECONDS", 0.2)
    step(started(session, 0.2))
    assert metrics(results(started(session, 0.7))) == whole


def test_failures_of_the_work_are_shared_and_failures_of_the_machine_are_not(session):
    def troubled(x, kind):
        config = {"config_id": f"x={x}", "session": f"{session}/{kind}", "replicate": 1}
        return trainable(Marked, params={"x": x, "trouble": kind}, **config)

    for kind, shared in (("nan", True), ("collapsed", True), ("oom", False), ("error", False)):
        worker = troubled(0.2, kind)
        first = results(worker)[-1]
        another(worker)
        second = results(troubled(0.7, kind))[-1]
        assert first.status == second.status == f"failed:{kind}"
        assert bool(second.same_as) == shared, kind


def test_an_epoch_may_take_longer_than_the_limit_of_silence(session, monkeypatch):
    """By the clock of this test two seconds pass between heartbeats, so a slow machine cannot fail it."""
    clock = SimpleNamespace(now=0.0)

    def sleep(_):
        clock.now += 2.0
        kv_put(f"seedwise/{session}/heartbeat/one-0".encode(), str(clock.now).encode())
        if clock.now == 20.0:
            owner.publish(0, Outcome())

    monkeypatch.setattr(shared_results, "SILENCE_SECONDS", 3.0)
    monkeypatch.setattr(shared_results, "time", SimpleNamespace(monotonic=lambda: clock.now, sleep=sleep))
    owner, waiting = SharedResults(session, "mark", "one/0"), SharedResults(session, "mark", "two/0")
    assert owner.mine()
    assert waiting.wait(0) == Outcome()
    assert clock.now == 20.0
    owner.leave()
    assert waiting.wait(1) is None


def test_workers_wait_for_each_other_although_results_are_known(session):
    SharedResults(session, "mark", "known/0").publish(0, Outcome())
    started = time.monotonic()
    begin_together(session, 2, timeout=0.3)  # the second run never arrives
    assert time.monotonic() - started >= 0.3


def test_the_first_claim_owns_the_work(session):
    waiting, owner = SharedResults(session, "mark", "one/0"), SharedResults(session, "mark", "two/0")
    assert owner.mine()
    assert waiting.owner() == "two/0"
    owner.publish(0, Outcome(metrics={"a": 0.1 + 0.2}))
    assert waiting.wait(0) == Outcome(metrics={"a": 0.1 + 0.2})  # bit for bit
    waiting.leave()  # not the owner: nothing is announced
    owner.publish(1, Outcome())
    assert waiting.wait(1) == Outcome()
    owner.leave()
