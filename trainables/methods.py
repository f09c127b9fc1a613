"""The built-in methods."""

from functools import cache
from importlib import import_module

from seedwise.trainables.spec import Input, MethodSpec

METHODS = {
    "stitching": "seedwise.trainables.stitching.spec",
    "dcca": "seedwise.trainables.dcca.spec",
    "ear": "seedwise.trainables.ear.spec",
}


@cache
def spec_of(method: str) -> MethodSpec:
    """The description of a method."""
    return import_module(METHODS[method]).SPEC


def built_in(method: object) -> MethodSpec | None:
    """The description of a built-in method; None for a user's own method, which has no description."""
    return spec_of(method) if isinstance(method, str) and method in METHODS else None


def all_inputs() -> dict[str, Input]:
    """Every key below `inputs:` of all methods. A key means the same in every method that has it."""
    return {name: key for method in METHODS for name, key in spec_of(method).inputs.items()}
