"""The Ray side of a run, called as Ray calls it, in this process."""

import json

import pytest

from tests.methods import Quadratic
from trainables.base import Method, RunFailed, RunTrainable, describe, kind_of

CONFIG = {
    "params": {"x": 0.5},
    "replicate": 0,
    "seed": 0,
    "session": "test",
    "workers": 1,
    "threads": 1,
    "gpus": 0.0,
    "checkpoint_seconds": 60.0,
    "resume_from": None,
}


def trainable(method=Quadratic, **changes):
    made = RunTrainable.__new__(RunTrainable)  # without Ray's own part
    made.config = CONFIG | changes
    made.setup(made.config, method, None)
    made.first = False  # there are no other workers to begin together with
    return made


def results(made):
    found = [made.step()]
    while not found[-1]["done"]:
        found.append(made.step())
    return found


def values(made):
    return [result["metrics"] for result in results(made)]


class Stumbles(Quadratic):
    def epoch(self, number):
        if number == 1:
            raise ValueError("got [/tmp/x] for [cpu]")
        return super().epoch(number)


class NeverStarts(Quadratic):
    def __init__(self, *arguments):
        raise KeyError("no table")


def test_a_reused_worker_is_as_good_as_a_fresh_one():
    used = trainable(params={"x": 0.9}, replicate=3)
    results(used)
    used.config = CONFIG
    assert used.reset_config(CONFIG)
    assert values(used) == values(trainable())


def test_a_run_that_fails_keeps_its_last_metrics_and_says_where():
    first, last = results(trainable(Stumbles))
    assert last["status"] == "failed:error"
    assert last["metrics"] == first["metrics"]
    assert last["error"].startswith("ValueError: got [/tmp/x] for [cpu] (test_base.py:")


def test_a_run_that_cannot_be_set_up_is_a_result_too():
    (only,) = results(trainable(NeverStarts))
    assert (only["status"], only["done"], only["metrics"]) == ("failed:error", True, {})
    assert only["error"].startswith("KeyError: 'no table'")


def test_going_on_from_a_checkpoint_repeats_nothing(tmp_path):
    whole = values(trainable())
    half = trainable()
    half.step()
    half.save_checkpoint(str(tmp_path))
    assert values(trainable(resume_from=str(tmp_path))) == whole[1:]


@pytest.mark.parametrize("damage", ["memory.json", "epoch.json"])
def test_a_checkpoint_cut_in_half_is_not_believed(tmp_path, damage):
    half = trainable()
    half.step()
    half.save_checkpoint(str(tmp_path))
    (tmp_path / damage).write_text("")
    assert values(trainable(resume_from=str(tmp_path))) == values(trainable())


class CannotBeSaved(Method):
    epochs = 2

    def epoch(self, number):
        return {"value": float(number)}


def test_a_method_without_save_is_never_asked_for_a_checkpoint():
    found = results(trainable(CannotBeSaved, checkpoint_seconds=0.0))
    assert [result["should_checkpoint"] for result in found] == [False, False]


def test_checkpoints_are_asked_for_by_time():
    assert [result["should_checkpoint"] for result in results(trainable(checkpoint_seconds=0.0))] == [True, False]
    assert [result["should_checkpoint"] for result in results(trainable())] == [False, False]


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
