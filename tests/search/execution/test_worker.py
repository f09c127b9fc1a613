"""The Ray trainable of a run, called in this process as Ray calls it."""

import gc
import json
from dataclasses import replace

import pytest
from ray.tune.utils import flatten_dict

from seedwise.search.execution.checkpoints import pack, unpack
from seedwise.search.execution.messages import RunOrder, StepReport
from seedwise.search.execution.training import describe, kind_of
from seedwise.search.execution.worker import RunTrainable
from seedwise.trainables.method import Method, RunFailed
from seedwise.trainables.streams import STREAMS
from tests import methods
from tests.methods import Draws, Quadratic, Tested

ORDER = RunOrder(
    config_id="0a1b2c3d4e",
    replicate=0,
    phase="search",
    params={"x": 0.5},
    vary=None,
    seed=0,
    session="test",
    workers=1,
    threads=1,
    gpus=0.0,
    checkpoint_seconds=60.0,
    heartbeat_seconds=60.0,
    checkpoint_store="",
    recorded=0,
    products=0,
    draw=False,
)


@pytest.fixture(autouse=True)
def objects_of_other_tests():
    """Kept out of collections: a run collects garbage first, in a process that has imported everything."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture
def without_searching_memory(monkeypatch):
    """Tested and Draws search all objects of the process, which only one test here needs."""
    monkeypatch.setattr(methods, "secret_in_memory", lambda: 0.0)


def trainable(method=Quadratic, tests=None, **changes):
    made = RunTrainable.__new__(RunTrainable)  # without Ray's own keys
    made.setup(replace(ORDER, **changes).as_dict(), method, None, **({} if tests is None else {"tests": tests}))
    made.first = False  # there are no other workers to wait for
    return made


def step(made):
    """A step as the driver receives it: flattened by Tune, beside Tune's keys."""
    return StepReport.of(flatten_dict(made.step() | {"config": {"x": 1}, "training_iteration": 1}))


def results(made):
    reports = [step(made)]
    while not reports[-1].done:
        reports.append(step(made))
    return reports


def values(made):
    return [result.metrics for result in results(made)]


class Stumbles(Quadratic):
    def epoch(self, number):
        if number == 1:
            raise ValueError("got [/tmp/x] for [cpu]")
        return super().epoch(number)


class NeverStarts(Quadratic):
    def __init__(self, *arguments):
        raise KeyError("no table")


def test_a_reused_worker_gives_the_scores_of_a_fresh_worker():
    used = trainable(params={"x": 0.9}, replicate=3)
    results(used)
    assert used.reset_config(ORDER.as_dict())
    assert values(used) == values(trainable())


def test_a_run_that_fails_keeps_its_last_metrics_and_says_where():
    first, last = results(trainable(Stumbles))
    assert last.status == "failed:error"
    assert last.metrics == first.metrics
    assert last.error.startswith("ValueError: got [/tmp/x] for [cpu] (test_worker.py:")


def test_a_run_that_cannot_be_set_up_is_a_failed_result():
    (only,) = results(trainable(NeverStarts))
    assert (only.status, only.done, only.metrics) == ("failed:error", True, {})
    assert only.error.startswith("KeyError: 'no table'")


def test_continuing_from_a_saved_state_repeats_nothing(tmp_path):
    whole = values(trainable())
    half = trainable(checkpoint_store=str(tmp_path), checkpoint_seconds=0.0)
    half.step()
    assert values(trainable(checkpoint_store=str(tmp_path))) == whole[1:]
    assert values(trainable(checkpoint_store=str(tmp_path), replicate=1)) == values(trainable(replicate=1)), (
        "of another run"
    )


@pytest.mark.parametrize("damage", ["memory.json", "epoch.json", "everything"])
def test_a_truncated_state_is_refused(tmp_path, damage):
    half = trainable(checkpoint_store=str(tmp_path), checkpoint_seconds=0.0)
    half.step()
    (kept,) = tmp_path.iterdir()
    unpack(kept.read_bytes(), tmp_path / "parts")
    if damage == "everything":
        kept.write_bytes(kept.read_bytes()[:700])
    else:
        (tmp_path / "parts" / damage).write_text("")
        kept.write_bytes(pack(tmp_path / "parts"))
    assert values(trainable(checkpoint_store=str(tmp_path))) == values(trainable())


class CannotWrite(Quadratic):
    def save(self, folder):
        raise RuntimeError("iostream error")  # as torch says where the disk is full


def test_a_run_continues_when_its_state_cannot_be_written(tmp_path, capfd):
    assert values(trainable(CannotWrite, checkpoint_store=str(tmp_path), checkpoint_seconds=0.0)) == values(trainable())
    assert "could not be saved: RuntimeError: iostream error" in capfd.readouterr().out


def test_a_state_that_cannot_be_saved_costs_no_run(tmp_path, capfd):
    (tmp_path / "file").write_text("where a folder should be")
    assert values(trainable(checkpoint_store=str(tmp_path / "file"), checkpoint_seconds=0.0)) == values(trainable())
    assert "could not be saved" in capfd.readouterr().out


class LooksAlways(Tested):
    """Reports in every epoch whether its process holds the test set."""

    def epoch(self, number):
        return super().epoch(number) | {"secret_in_memory": methods.secret_in_memory()}


def test_only_a_confirmation_is_tested_and_only_after_its_last_epoch(monkeypatch):
    monkeypatch.setattr(methods, "secret", lambda: ["of this test alone"])  # another test may have left its secret
    search, tests = results(trainable(LooksAlways)), Tested.prepare_test({})
    confirmed = results(trainable(LooksAlways, tests, phase="confirm"))
    assert [result.metrics["secret_in_memory"] for result in search] == [0.0, 0.0]
    assert [result.metrics["secret_in_memory"] for result in confirmed] == [1.0, 1.0]
    assert "test/value/x" not in confirmed[0].metrics
    assert confirmed[1].metrics["test/value/x"] == 1 - (0.5 - 0.3) ** 2
    assert confirmed[1].metrics["test/secret_in_memory/x"] == 1.0
    monkeypatch.setattr(methods, "secret_in_memory", lambda: 0.0)
    for without in (trainable(Tested, tests), trainable(Tested, phase="confirm")):
        assert not any(name.startswith("test/") for metrics in values(without) for name in metrics)


@pytest.mark.usefixtures("without_searching_memory")
def test_a_test_that_fails_is_a_failure_of_its_run_which_keeps_the_last_epoch():
    *_, last = results(trainable(Tested, {}, phase="confirm", params={"x": 0.5, "trouble": "test"}))
    assert (last.status, last.done) == ("failed:error", True)
    assert last.error.startswith("ValueError: the test set is broken (methods.py:")
    assert last.metrics == values(trainable(Tested))[-1]


class TestsToNothing(Tested):
    def test(self, tests):
        return {"test/value/x": float("nan")}


class Counted(Quadratic):
    """Independent epochs, and a product."""

    independent, epochs = True, 4

    def epoch(self, number):
        return {"value": float(number)}

    def product(self):
        return {"numbers": [self.params["x"]]}


def test_independent_epochs_are_not_repeated():
    assert [metrics["value"] for metrics in values(trainable(Counted))] == [0.0, 1.0, 2.0, 3.0]
    assert [metrics["value"] for metrics in values(trainable(Counted, recorded=2))] == [2.0, 3.0]
    assert [metrics["value"] for metrics in values(trainable(Counted, recorded=9))] == [3.0]  # it had no result


def test_only_the_last_step_has_the_product():
    made = trainable(Counted)
    assert [report.has_product for report in results(made)] == [False, False, False, True]
    assert made.take_output() == {"numbers": [0.5]}
    assert {report.has_product for report in results(trainable())} == {False}


def test_a_worker_keeps_a_checkpoint_until_it_is_fetched_once():
    made = trainable(checkpoint_seconds=0.0, params={"x": 0.5, "epochs": 3})
    assert step(made).has_checkpoint is True
    assert len(made.take_output()) > 0
    assert made.take_output() is None
    assert [report.has_checkpoint for report in results(made)] == [True, False]


def test_products_of_other_runs_arrive_before_the_first_epoch():
    class Takes(Counted):
        def receive(self, products):
            self.taken = products

        def epoch(self, number):
            return {"value": float(sum(self.taken))}

    made = trainable(Takes, products=2)
    made.set_inputs(None, 2, 5)
    assert values(made)[0] == {"value": 7.0}
    assert made.inputs is None  # fetched and released
    (only,) = results(trainable(Takes, products=2))
    assert only.error.startswith("RuntimeError: 0 of 2 models arrived from other runs")


@pytest.mark.usefixtures("without_searching_memory")
def test_a_test_score_that_is_no_number_is_a_failure():
    *_, last = results(trainable(TestsToNothing, {}, phase="confirm"))
    assert (last.status, last.error.split(" (")[0]) == ("failed:nan", "RunFailed: test/value/x is nan")
    assert "value" in last.metrics
    assert "test/value/x" not in last.metrics


@pytest.mark.usefixtures("without_searching_memory")
def test_a_run_that_fails_in_its_last_epoch_is_not_tested():
    *_, last = results(trainable(Tested, {}, phase="confirm", replicate=1, params={"x": 0.5, "trouble": "nan"}))
    assert last.status == "failed:nan"
    assert "test/value" not in last.metrics


@pytest.mark.usefixtures("without_searching_memory")
def test_a_method_of_ones_own_that_raises_collapsed_is_tested_all_the_same():
    class Tests(Quadratic):
        def test(self, tests):
            return {"test/value/x": tests["value"]}

    collapses = {"x": 0.5, "trouble": "collapsed"}
    *_, last = results(trainable(Tests, {"value": 0.25}, phase="confirm", replicate=1, params=collapses))
    assert (last.status, last.metrics) == ("failed:collapsed", {"value": 0.1, "test/value/x": 0.25})


def test_the_default_method_has_no_test_set_and_uses_every_stream():
    assert Method.prepare_test({}) is None
    assert Quadratic(None, {}, None, None).test({}) == {}
    assert Method.streams_used({}) == STREAMS


def test_varying_a_stream_changes_a_run_only_where_it_draws_from_it():
    first, second = values(trainable()), values(trainable(replicate=1))
    assert values(trainable(replicate=1, vary="order")) == second != first
    assert values(trainable(replicate=1, vary="head")) == first
    (only,) = results(trainable(replicate=1, vary="weather"))
    assert only.error.startswith("ValueError: 'weather' is not a stream")


@pytest.mark.usefixtures("without_searching_memory")
def test_pictures_come_with_the_last_step_of_a_run_that_is_asked_for_them():
    first, last = results(trainable(Draws, draw=True))
    assert first.pictures == ""
    (picture,) = json.loads(last.pictures)
    assert picture["panels"][0]["series"][0]["y"] == [last.metrics["memory"], 0.5]
    assert picture["panels"][1]["log"] is False  # omitted options have their defaults
    assert [result.pictures for result in results(trainable(Draws, draw=False))] == ["", ""]
    assert [result.pictures for result in results(trainable(Quadratic, draw=True))] == ["", ""]


@pytest.mark.usefixtures("without_searching_memory")
def test_a_run_that_fails_is_not_asked_for_pictures():
    *_, last = results(trainable(Draws, draw=True, replicate=1, params={"x": 0.5, "trouble": "collapsed"}))
    assert (last.status, last.pictures) == ("failed:collapsed", "")


def series(**changes):
    return {"name": "", "kind": "line", "x": [1.0], "y": [1.0], **changes}


def picture(*of_panel, **changes):
    panels = [{"title": "", "x": "", "y": "", "series": list(of_panel)}]
    return {"name": "one", "title": "", "text": "", "columns": 1, "panels": panels, **changes}


@pytest.mark.usefixtures("without_searching_memory")
@pytest.mark.parametrize(
    ("pictures", "error"),
    [
        (None, "ValueError: no ink (methods.py:"),
        ([picture(series(x=[1.0, 2.0]))], "pictures.0.panels.0.series.0: 2 x, 1 y and 0 labels"),
        ([picture(series(labels=["a", "b"]))], "1 x, 1 y and 2 labels"),
        ([picture(series(y=[float("nan")]))], "pictures.0.panels.0.series.0.y.0: nan cannot be drawn"),
        ([picture(series(y=[1e300]))], "1e+300 cannot be drawn"),
        ([picture(series(kind="bar"))], "pictures.0.panels.0.series.0.kind: "),
        ([picture(series(), colour="red")], "pictures.0.colour: "),
        ([picture(series(), name="../../one")], "pictures.0.name: "),
        ([picture(panels=[])], "pictures.0.panels: "),
        ([picture(), picture()], "two pictures have the same name: one, one"),
        ([{"name": "one"}], "pictures.0.title: "),
        ({"name": "one"}, "pictures: "),
    ],
)
def test_failing_pictures_do_not_fail_the_run_and_are_one_line(pictures, error, monkeypatch, capsys):
    if pictures is not None:
        monkeypatch.setattr(Draws, "pictures", lambda self: pictures)
    *_, last = results(trainable(Draws, draw=True, params={"x": 0.5, "trouble": "draw"}))
    assert (last.status, last.error, last.pictures) == ("done", "", "")
    assert last.metrics["value"]
    (said,) = capsys.readouterr().out.splitlines()
    assert said.startswith("Draws.pictures failed, its run counts: ")
    assert error in said


class CannotBeSaved(Method):
    epochs = 2

    def epoch(self, number):
        return {"value": float(number)}


def test_a_method_without_save_is_never_saved(tmp_path):
    results(trainable(CannotBeSaved, checkpoint_store=str(tmp_path), checkpoint_seconds=0.0))
    assert not list(tmp_path.iterdir())


def test_states_are_saved_by_time_and_not_after_the_last_epoch(tmp_path):
    for seconds, saved in ((60.0, 0), (0.0, 1)):
        reports = results(trainable(checkpoint_store=str(tmp_path), checkpoint_seconds=seconds))
        assert len(list(tmp_path.iterdir())) == saved
        assert [result.has_checkpoint for result in reports] == [False, False]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (RunFailed("nan", "x"), "nan"),
        (MemoryError(), "oom"),
        (type("OutOfMemoryError", (RuntimeError,), {})(), "oom"),
        (json.JSONDecodeError("x", "", 0), "error"),
    ],
)
def test_kinds_of_failure(error, kind):
    assert kind_of(error) == kind
    assert "\n" not in describe(error)
