"""Inputs of a method as a search prepares them."""

from typing import Any

from seedwise.search.spec.schema import Specification
from seedwise.trainables.method import Method


def request(specification: Specification | dict) -> Specification:
    """The request that a method gets for a specification or for plain data; files need not exist."""
    return Specification.model_validate(specification) if isinstance(specification, dict) else specification


def prepare(method: type[Method], specification: Specification | dict) -> Any:
    """What the method reads for a specification."""
    asking = request(specification)
    return method.prepare(asking, asking.parts.candidates)


def prepare_test(method: type[Method], specification: Specification | dict) -> Any:
    """The test sets that the method reads."""
    return method.prepare_test(request(specification))
