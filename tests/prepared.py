"""Inputs of a method as a search prepares them."""

from typing import Any

from seedwise.search.decide.baselines import asked_of
from seedwise.search.spec import methods
from seedwise.trainables.method import Method


def prepare(method: type[Method], specification: dict) -> Any:
    """What the method reads for a resolved specification."""
    return methods.prepare(method, specification, asked_of(specification))
