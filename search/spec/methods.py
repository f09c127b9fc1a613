"""The class of the method that a specification names, and its inputs."""

from inspect import signature
from typing import Any

from seedwise.imports import import_path
from seedwise.trainables.method import Asked, Method

TRAINABLES = {
    "stitching": "seedwise.trainables.stitching.trainable:Stitching",
    "dcca": "seedwise.trainables.dcca.trainable:Dcca",
    "ear": "seedwise.trainables.ear.trainable:Ear",
}


LANDSCAPE = "seedwise.trainables.landscape.trainable:Landscape"


def method_class(specification: dict) -> type:
    """From a resolved specification: a built-in method, one's own by its import path, or a landscape of a method."""
    if specification.get("landscape"):
        return import_path(LANDSCAPE, "landscape")
    custom = isinstance(specification["method"], dict)
    path = specification["method"]["trainable"] if custom else TRAINABLES[specification["method"]]
    return import_path(path, "method.trainable")


def prepare(method: type[Method], specification: dict, asked: Asked) -> Any:
    """What a method reads for all runs; one that takes only the specification gets no more."""
    takes_asked = "asked" in signature(method.prepare).parameters
    return method.prepare(specification, asked) if takes_asked else method.prepare(specification)
