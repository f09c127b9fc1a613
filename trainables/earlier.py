"""Methods that were written for version 0.8: `epochs` and `epoch(number)`, and the specification as a dictionary."""

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any

TAKE_REQUEST = ("prepare", "prepare_test", "export")  # they took the specification as a dictionary


def adapt(cls: type) -> None:
    """Give a class with the names of 0.8 the names of today. Any other class stays as it is."""
    if next(name for parent in cls.__mro__ for name in ("step", "epoch") if name in vars(parent)) == "epoch":
        cls.step = _step
        cls.steps = property(lambda run: getattr(run, "epochs", 1))
    for name in TAKE_REQUEST:
        if (own := vars(cls).get(name)) is not None:
            kind = type(own) if isinstance(own, classmethod | staticmethod) else lambda function: function
            bound = 0 if isinstance(own, staticmethod) else 1  # the class or the run comes first
            setattr(cls, name, kind(_adapted(getattr(own, "__func__", own), bound, optional=name == "prepare")))


def _step(run: Any, number: int) -> dict[str, float]:
    return run.epoch(number)


def _adapted(function: Callable, bound: int, *, optional: bool) -> Callable:
    """The function, called with a dictionary instead of the request, and without candidates if it takes none.

    The dictionary's documented name was `specification`; in a class with `epoch`, any name but `request` means it.
    """
    names = list(signature(function).parameters)[bound:]
    few, first = optional and len(names) == 1, names[0] if names else ""
    if first == "request" and not few:
        return function

    @wraps(function)
    def adapted(*arguments: Any) -> Any:
        start, (request, *rest) = arguments[:bound], arguments[bound:]
        old = first == "specification" or (first != "request" and any(map(_has_epochs, start)))
        request = request.as_dict() if old and hasattr(request, "as_dict") else request
        return function(*start, request, *(() if few else rest))

    return adapted


def _has_epochs(owner: Any) -> bool:
    return (owner if isinstance(owner, type) else type(owner)).step is _step
