"""The class of the method that a specification names."""

from typing import TYPE_CHECKING

from seedwise.imports import import_path
from seedwise.trainables.methods import spec_of

if TYPE_CHECKING:
    from seedwise.search.spec.schema import Specification


def method_class(specification: "Specification") -> type:
    """A built-in method, or one's own by its import path."""
    method = specification.method
    path = spec_of(method).trainable if isinstance(method, str) else method.trainable
    return import_path(path, "method.trainable")
