"""Methods that were written for version 0.8: `epochs` and `epoch(number)`, and the specification as a dictionary."""

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any

GIVEN = ("prepare", "prepare_test", "export")  # what took a specification


def adapt(cls: type) -> None:
    """Give a class that was written so the names of today. One that is not stays as it is."""
    if next(name for one in cls.__mro__ for name in ("step", "epoch") if name in vars(one)) == "epoch":
        cls.step = _step
        cls.steps = property(lambda run: getattr(run, "epochs", 1))
    for name in GIVEN:
        if (own := vars(cls).get(name)) is not None:
            kind = type(own) if isinstance(own, classmethod | staticmethod) else lambda function: function
            function = getattr(own, "__func__", own)
            before = 0 if isinstance(own, staticmethod) else 1  # the class or the run
            setattr(cls, name, kind(_adapted(function, before, optional=name == "prepare")))


def _step(run: Any, number: int) -> dict[str, float]:
    return run.epoch(number)


def _adapted(function: Callable, before: int, *, optional: bool) -> Callable:
    """The function with a dictionary in the place of the request, and without what it may leave out.

    The dictionary's documented name was `specification`; where there is an `epoch`, it may have any but `request`.
    """
    names = list(signature(function).parameters)[before:]
    few, first = optional and len(names) == 1, names[0] if names else ""
    if first == "request" and not few:
        return function

    @wraps(function)
    def adapted(*given: Any) -> Any:
        start, (request, *more) = given[:before], given[before:]
        plain = first == "specification" or (first != "request" and any(map(_of_epochs, start)))
        asking = request.as_dict() if plain and hasattr(request, "as_dict") else request
        return function(*start, asking, *(() if few else more))

    return adapted


def _of_epochs(this: Any) -> bool:
    """Whether a class, or the class of a run, has epochs."""
    return (this if isinstance(this, type) else type(this)).step is _step
