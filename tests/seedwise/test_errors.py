"""Request errors as data: how they are printed, sent to another process and made from pydantic's errors."""

import pickle
from typing import Annotated

import pytest
from pydantic import BaseModel, ConfigDict, Field
from pydantic.dataclasses import dataclass

from seedwise.errors import MissingFile, RequestError, RequestErrors
from seedwise.validation import request_errors

STRICT = ConfigDict(strict=True, extra="forbid")


@dataclass(frozen=True, config=STRICT)
class Options:
    rate: Annotated[float, Field(gt=0)] = 0.1
    size: int = 2


class Inner(BaseModel):
    model_config = STRICT
    colour: str = "red"


class Outer(BaseModel):
    inner: Inner = Inner()


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (RequestError("space.k", "0 is too few", "Write more."), "space.k: 0 is too few. Write more."),
        (RequestError("space.k", "which one?", ""), "space.k: which one?"),
        (RequestError("space.k", "no such name", "Did you mean j?"), "space.k: no such name. Did you mean j?"),
        (MissingFile("task.data", "/x is missing", "Add it.", "/x"), "task.data: /x is missing. Add it."),
        (RequestErrors([RequestError("a", "b", "C."), RequestError("d", "e")]), "a: b. C.\nd: e."),
    ],
)
def test_an_error_is_printed_from_its_parts_and_is_the_same_in_another_process(error, text):
    assert str(error) == text
    other = pickle.loads(pickle.dumps(error))
    assert (type(other), str(other), vars(other).keys()) == (type(error), text, vars(error).keys())


def test_all_type_errors_are_reported_at_once_below_the_prefix():
    with pytest.raises(RequestError) as raised, request_errors("space.", Options):
        Options(rate=0, size=True, sice=3)
    assert {str(problem) for problem in raised.value.problems} == {
        "space.rate: 0 is wrong: input should be greater than 0.",
        "space.size: True is wrong: input should be a valid integer.",
        "space.sice: there is no such key. Did you mean size?",
    }


def test_an_unknown_name_gets_the_suggestion_of_its_own_level_and_a_password_is_hidden():
    unknown = r"^inner\.color: there is no such key\. Did you mean colour\?$"
    with pytest.raises(RequestError, match=unknown), request_errors(model=Outer):
        Outer.model_validate({"inner": {"color": "blue"}})
    with pytest.raises(RequestError, match=r"^size: \*\*\* is wrong"), request_errors():
        Options(size="http://me:Sesam@host")


def test_an_error_about_one_option_keeps_its_parts_and_gets_the_prefix():
    with pytest.raises(RequestError) as raised, request_errors("enqueue.0."):
        raise RequestError("top_k", "70 is too many", "Write less.")
    assert (raised.value.key, raised.value.problem, raised.value.fix) == (
        "enqueue.0.top_k",
        "70 is too many",
        "Write less.",
    )
    with pytest.raises(RequestError, match=r"^space: what a space of one's own says\.$"), request_errors("space."):
        raise ValueError("what a space of one's own says")
