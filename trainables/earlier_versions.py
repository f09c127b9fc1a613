"""Adapts methods written for version 0.8, which define `epochs` and `epoch(number)` and get a plain dictionary."""

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any

TAKE_REQUEST = ("prepare", "prepare_test", "export")  # they took the specification as a dictionary


def adapt(cls: type) -> None:
    """Give a class written for version 0.8 the current method names. Any other class stays unchanged.

    A class with both `epoch` and `step` counts as written for 0.8 if it has `epochs`; its `step` is then a helper.
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
    """Run an epoch. If an epoch is already running, call the class's own helper named `step` instead."""
    if vars(run).get("_in_epoch"):
        return run._helper(*arguments, **named)
    run._in_epoch = True
    try:
        return run.epoch(*arguments)
    finally:
        run._in_epoch = False


def _adapted(function: Callable, bound: int, *, optional: bool) -> Callable:
    """Wrap a function to get a dictionary instead of the request, and no candidates if it takes none.

    Version 0.8 called this argument `specification`. In a class with `epoch`, any name but `request` gets a dictionary.
    """
    names = list(signature(function).parameters)[bound:]
    request_only, first = optional and len(names) == 1, names[0] if names else ""
    if first == "request" and not request_only:
        return function

    @wraps(function)
    def adapted(*arguments: Any) -> Any:
        owner, (request, *rest) = arguments[:bound], arguments[bound:]
        takes_dict = first == "specification" or (first != "request" and any(map(_has_epochs, owner)))
        request = request.as_dict() if takes_dict and hasattr(request, "as_dict") else request
        return function(*owner, request, *(() if request_only else rest))

    return adapted


def _has_epochs(owner: Any) -> bool:
    return (owner if isinstance(owner, type) else type(owner)).step is _step
