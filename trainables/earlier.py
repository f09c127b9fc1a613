"""Methods that were written for version 0.8: `epochs` and `epoch(number)`, and the specification as a dictionary."""

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any

GIVEN = ("prepare", "prepare_test", "export")  # what took a specification


def adapt(cls: type) -> None:
    """Give a class that was written so the names of today. One that is not stays as it is."""
    own = vars(cls)
    if "epoch" in own and "step" not in own:
        cls.step = _step
        cls.steps = property(lambda run: getattr(run, "epochs", 1))
    for name in GIVEN:
        function = getattr(own.get(name), "__func__", own.get(name))
        if function is not None:
            adapted = _adapted(function, optional=name == "prepare")
            setattr(cls, name, classmethod(adapted) if isinstance(own[name], classmethod) else adapted)


def _step(run: Any, number: int) -> dict[str, float]:
    return run.epoch(number)


def _adapted(function: Callable, *, optional: bool) -> Callable:
    """The function with a request in the place of the dictionary, and without what it may leave out."""
    names = list(signature(function).parameters)[1:]
    plain, few = names[:1] == ["specification"], optional and len(names) == 1
    if not plain and not few:
        return function

    @wraps(function)
    def adapted(this: Any, request: Any, *more: Any) -> Any:
        given = request.as_dict() if plain and hasattr(request, "as_dict") else request
        return function(this, given, *(() if few else more))

    return adapted
