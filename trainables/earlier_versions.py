"""Methods that were written for version 0.8: `epochs` and `epoch(number)`, and the specification as a dictionary."""

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any

TAKE_REQUEST = ("prepare", "prepare_test", "export")  # they took the specification as a dictionary


def adapt(cls: type) -> None:
    """Give a class that has the names of version 0.8 the names of today. Any other class stays as it is.

    A class with both `epoch` and `step` is one of 0.8 if it has `epochs`; its `step` is a helper then.
    """
    parent = next(parent for parent in cls.__mro__ if vars(parent).keys() & {"step", "epoch"})
    helper = parent is cls and hasattr(cls, "epochs") and vars(cls).get("step")
    if "epoch" in vars(parent) and (helper or "step" not in vars(parent)):
        if helper:
            cls._helper = helper
        cls.step = _step
        cls.steps = property(lambda run: getattr(run, "epochs", 1))
    for name in TAKE_REQUEST:
        if (own := vars(cls).get(name)) is not None:
            kind = type(own) if isinstance(own, classmethod | staticmethod) else lambda function: function
            bound = 0 if isinstance(own, staticmethod) else 1  # the class or the run comes first
            setattr(cls, name, kind(_adapted(getattr(own, "__func__", own), bound, optional=name == "prepare")))


def _step(run: Any, *arguments: Any, **named: Any) -> Any:
    """Run an epoch. Within it, call the helper that the class has under this name."""
    if vars(run).get("_in_epoch"):
        return run._helper(*arguments, **named)
    run._in_epoch = True
    try:
        return run.epoch(*arguments)
    finally:
        run._in_epoch = False


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
