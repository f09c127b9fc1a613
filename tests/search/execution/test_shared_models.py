"""The maps of LS on Ray's real key-value store: one run trains the source model, and each map has its own scores."""

import dataclasses
import itertools
import time
from types import SimpleNamespace

import pytest

from seedwise.search.execution import shared_results
from seedwise.search.execution.messages import session_key
from seedwise.search.execution.shared_results import publish_known
from seedwise.search.execution.worker import RunTrainable
from seedwise.search.ledger.state import replay
from seedwise.search.spec.load import read
from seedwise.spaces import config_id
from seedwise.trainables.inputs.text import Encoded
from seedwise.trainables.stitching.trainable import Stitching
from seedwise.trainables.training.learner import Learner
from tests.prepared import prepare
from tests.search.execution.test_worker import ORDER, results

pytestmark = pytest.mark.usefixtures("ray_here")

SESSIONS = (f"models/{number}" for number in itertools.count())
SPECIFICATION = read("demo", ["baselines={ls: {}}", "space.epochs=2", "space.batch_size=8"])
PLAIN, RIDGE, ORTHOGONAL = SPECIFICATION.parts.baselines.configurations


@pytest.fixture(scope="module")
def inputs():
    """Few examples: nothing needs to be learnt."""

    def first(data, count):
        return Encoded(data.ids[:count], data.lengths[:count], data.labels[:count])

    whole = prepare(Stitching, SPECIFICATION)
    assert len(whole.least_squares) == 3
    targets = {name: dataclasses.replace(one, dev=first(one.dev, 20)) for name, one in whole.targets.items()}
    return dataclasses.replace(whole, train=first(whole.train, 96), dev=first(whole.dev, 20), targets=targets)


@pytest.fixture(autouse=True)
def trained(monkeypatch):
    """How many epochs of a model were trained, in all runs."""
    epochs, epoch = [], Learner.epoch

    def counting(self, *arguments, **named):
        epochs.append(self)
        return epoch(self, *arguments, **named)

    monkeypatch.setattr(Learner, "epoch", counting)
    return epochs


def started(inputs, params, session, **changes):
    made = RunTrainable.__new__(RunTrainable)  # without Ray's own part
    order = dataclasses.replace(ORDER, params=params, config_id=config_id(params), session=session, **changes)
    made.setup(order.as_dict(), Stitching, inputs)
    made.first = False
    return made


def metrics(reports):
    return [report.metrics for report in reports]


@pytest.fixture(scope="module")
def apart(inputs):
    """Every map trained by itself, as in a search that has no other."""
    alone = dataclasses.replace(inputs, least_squares=())
    return [metrics(results(started(alone, params, next(SESSIONS)))) for params in (PLAIN, RIDGE, ORTHOGONAL)]


def test_the_source_model_of_all_maps_is_trained_once_and_scores_are_those_of_separate_trainings(
    inputs, apart, trained
):
    session = next(SESSIONS)
    together = [results(started(inputs, params, session)) for params in (PLAIN, RIDGE, ORTHOGONAL)]
    assert len(trained) == 2  # epochs of one model
    assert [metrics(reports) for reports in together] == apart
    target = [reports[-1].metrics["dev/macro_f1/qan"] for reports in together]
    assert len(set(target)) > 1  # which are not the same
    assert {report.same_as for reports in together[1:] for report in reports} == {f"{config_id(PLAIN)}/0"}
    assert len({reports[-1].fingerprint for reports in together}) == 3
    assert {report.seconds for report in together[2]} == {report.seconds for report in together[0]}


def test_whichever_map_comes_first_trains(inputs, apart, trained):
    session = next(SESSIONS)
    together = {config_id(params): results(started(inputs, params, session)) for params in (ORTHOGONAL, PLAIN, RIDGE)}
    assert len(trained) == 2
    assert [metrics(together[config_id(params)]) for params in (PLAIN, RIDGE, ORTHOGONAL)] == apart


def test_another_replicate_is_another_training(inputs, trained):
    session = next(SESSIONS)
    for replicate in (0, 1):
        results(started(inputs, PLAIN, session, replicate=replicate))
    assert len(trained) == 4


def test_where_the_run_that_trains_is_lost_the_next_map_trains_to_the_same_scores(inputs, apart, trained, monkeypatch):
    monkeypatch.setattr(shared_results, "SILENCE_SECONDS", 0.2)
    session = next(SESSIONS)
    started(inputs, PLAIN, session).step()  # one epoch, and no word after it
    assert metrics(results(started(inputs, RIDGE, session))) == apart[1]
    assert len(trained) == 1 + 2
    assert metrics(results(started(inputs, ORTHOGONAL, session))) == apart[2]
    assert len(trained) == 1 + 2


def test_after_an_interruption_the_next_map_trains_once_more_for_the_rest(inputs, apart, trained, monkeypatch):
    """The ledger has the results of the first map alone. Nobody waits for it."""

    def sleep(_):
        raise AssertionError("a run waits for another")

    monkeypatch.setattr(shared_results, "time", SimpleNamespace(monotonic=time.monotonic, sleep=sleep))
    reports = results(started(inputs, PLAIN, next(SESSIONS)))
    run = {"config_id": config_id(PLAIN), "replicate": 0, "phase": "search"}
    lines = [
        {"event": "search", "search_id": next(SESSIONS), "specification": SPECIFICATION.as_dict()},
        {"event": "ask", "config_id": config_id(PLAIN), "params": PLAIN, "ask": -1},
        {"event": "start", **run},
    ]
    for report in reports:
        ended = {"step": report.epoch, "metrics": report.metrics, "seconds": report.seconds, "status": report.status}
        event = {"event": "result", "fingerprint": report.fingerprint} if report.done else {"event": "step"}
        lines.append({**event, **run, **ended, "epochs": report.epochs})
    state = replay(lines)
    publish_known(state, "search")
    session = session_key(state, "search")
    assert metrics(results(started(inputs, RIDGE, session))) == apart[1]
    assert len(trained) == 2 + 2
    assert metrics(results(started(inputs, ORTHOGONAL, session))) == apart[2]
    assert len(trained) == 2 + 2
