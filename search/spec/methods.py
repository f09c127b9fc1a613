"""The class of the method that a specification names."""

from seedwise.spaces.space import import_path

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
