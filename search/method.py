"""The class of the method that a specification names."""

from spaces.space import import_path

TRAINABLES = {
    "stitching": "trainables.stitching.trainable:Stitching",
    "dcca": "trainables.dcca.trainable:Dcca",
    "ear": "trainables.ear.trainable:Ear",
}


def method_class(specification: dict) -> type:
    """From a resolved specification: a built-in method, or one's own by its import path."""
    custom = isinstance(specification["method"], dict)
    path = specification["method"]["trainable"] if custom else TRAINABLES[specification["method"]]
    return import_path(path, "method.trainable")
