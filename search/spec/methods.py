"""The class of the method that a specification names."""

from typing import TYPE_CHECKING

from seedwise.imports import import_path
from seedwise.trainables.methods import spec_of

if TYPE_CHECKING:
    from seedwise.search.spec.schema import Specification

LANDSCAPE = "seedwise.trainables.landscape.trainable:Landscape"


def method_class(specification: "Specification") -> type:
    """A built-in method, one's own by its import path, or a landscape of a method."""
    if specification.landscape:
        return import_path(LANDSCAPE, "landscape")
    method = specification.method
    path = spec_of(method).trainable if isinstance(method, str) else method.trainable
    return import_path(path, "method.trainable")
