"""The methods that there are."""

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
    """What a method says of itself."""
    return import_module(METHODS[method]).SPEC


def built_in(method: object) -> MethodSpec | None:
    """The same, of whatever a specification has as its method; None of one's own, which says nothing of itself."""
    return spec_of(method) if isinstance(method, str) and method in METHODS else None


def all_inputs() -> dict[str, Input]:
    """Every key below `inputs:`, of whichever method. Methods that share a name mean the same by it."""
    return {name: one for method in METHODS for name, one in spec_of(method).inputs.items()}
