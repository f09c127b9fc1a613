"""Methods written for version 0.8, with its names, still run."""

import functools

import pytest

from seedwise.trainables.method import Candidates, Method
from seedwise.trainables.streams import Streams

CANDIDATES = Candidates({"space": [{"x": 1}]})


class FakeRequest:
    """A request: not a dictionary, but convertible to a dictionary."""

    def as_dict(self):
        return {"model": "a"}


class Bare:
    def epoch(self, number):
        return {"value": 1.0 + number}


class Old(Method):
    """All its names are those of version 0.8."""

    epochs = 3

    @classmethod
    def prepare(cls, specification):
        return cls.__name__, specification["model"]

    @classmethod
    def prepare_test(cls, specification):
        return specification["model"]

    def epoch(self, number):
        return {"value": float(number)}

    def export(self, specification, folder):
        return [folder / specification["model"]]


class Younger(Old):
    """Sets its epochs in `__init__`, as allowed, and calls its base class."""

    def __init__(self, *given):
        super().__init__(*given)
        self.epochs = self.params["x"]

    @classmethod
    def prepare(cls, specification):
        return *super().prepare(specification), "more"

    def epoch(self, number):
        return {"value": super().epoch(number)["value"] + 10}


class Renamed(Old):
    """Arguments were positional, so they may have any name."""

    @classmethod
    def prepare(cls, spec):
        return spec["model"]

    def export(self, config, to):
        return [to, config["model"]]


class Beside(Bare, Method):
    """Its epoch comes from a class that is not a Method."""


class Common(Method):
    @classmethod
    def prepare(cls, spec):
        return spec["model"]


class OfCommon(Common):
    def epoch(self, number):
        return {}


class Static(Old):
    @staticmethod
    def prepare(specification):
        return specification["model"]


def noted(function):
    @functools.wraps(function)
    def inner(*given):
        return "noted", function(*given)

    return inner


class Decorated(Old):
    @classmethod
    @noted
    def prepare(cls, specification):
        return specification["model"]


class Today(Method):
    """The names of today, with an argument left out."""

    steps = 2

    @classmethod
    def prepare(cls, request):
        return request

    def step(self, number):
        return {"value": float(number)}


class Moved(Old):
    """Its own `step` has priority over the `epoch` of its base."""

    steps = 4

    def step(self, number):
        return {"value": -1.0}


class WithHelper(Method):
    """Its epochs call a helper that is named `step`."""

    epochs = 2

    def step(self, batch, rate=1.0):
        return batch * rate

    def epoch(self, number):
        return {"value": self.step(number + 1, rate=5.0)}


class OfHelper(WithHelper):
    def epoch(self, number):
        return {"value": super().epoch(number)["value"] + self.step(1)}


def run_of(kind, params=None):
    return kind(None, params or {}, Streams(0, 0), None)


@pytest.mark.parametrize(
    ("kind", "params", "values"),
    [
        (Old, {}, [0, 1, 2]),
        (Younger, {"x": 2}, [10, 11]),
        (Renamed, {}, [0, 1, 2]),
        (Beside, {}, [1]),
        (Today, {}, [0, 1]),
        (Moved, {}, [-1, -1, -1, -1]),
        (WithHelper, {}, [5, 10]),
        (OfHelper, {}, [6, 11]),
    ],
)
def test_epochs_are_steps(kind, params, values):
    run = run_of(kind, params)
    assert [run.step(number)["value"] for number in range(run.steps)] == values


@pytest.mark.parametrize(
    ("kind", "prepared"),
    [
        (Old, ("Old", "a")),
        (Younger, ("Younger", "a", "more")),
        (Renamed, "a"),
        (OfCommon, "a"),
        (Static, "a"),
        (Decorated, ("noted", "a")),
        (Beside, None),
    ],
)
def test_prepare_has_the_dictionary_and_may_leave_out_what_is_asked_for(kind, prepared):
    assert kind.prepare(FakeRequest(), CANDIDATES) == prepared


def test_tests_and_exports_have_the_dictionary_too(tmp_path):
    assert Younger.prepare_test(FakeRequest()) == "a"
    assert run_of(Old).export(FakeRequest(), tmp_path) == [tmp_path / "a"]
    assert run_of(Renamed).export(FakeRequest(), tmp_path) == [tmp_path, "a"]


def test_a_method_of_today_has_the_request_itself():
    request = FakeRequest()
    assert Today.prepare(request, CANDIDATES) is request


def test_a_method_without_an_export_is_still_recognised():
    assert Today.export is Method.export
    assert Younger.export is Old.export
