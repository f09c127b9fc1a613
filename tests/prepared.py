"""Inputs of a method as a search prepares them."""

from typing import Any

from seedwise.search.spec.schema import Specification
from seedwise.trainables.method import Method


def request(specification: Specification | dict) -> Specification:
    """A specification as a method gets it, from plain data too, whose files need not be there."""
    return Specification.model_validate(specification) if isinstance(specification, dict) else specification


def prepare(method: type[Method], specification: Specification | dict) -> Any:
    """What the method reads for a specification."""
    asking = request(specification)
    return method.prepare(asking, asking.parts.candidates)


def prepare_test(method: type[Method], specification: Specification | dict) -> Any:
    """The test sets that it reads."""
    return method.prepare_test(request(specification))
