"""What types cannot say about the landscape of a specification."""

from typing import TYPE_CHECKING

from seedwise.errors import RequestError
from seedwise.spaces.baselines import NAMES
from seedwise.suggest import nearest

if TYPE_CHECKING:
    from seedwise.search.spec.schema import Specification

LABELS = (
    "Models of the target and of both are trained on it. Add it, or compare seeds alone, without training on targets: "
    "--seeds-only, or landscape.labels: false."
)
METHODS = ("stitching", "ear")


def check_landscape(specification: "Specification") -> None:
    """Raise at the first thing that a landscape could not begin with."""
    options, method = specification.landscape, specification.method
    if method not in METHODS:
        named = method if isinstance(method, str) else method.trainable
        raise RequestError(f"landscape: {named} has none. Choose one of {', '.join(METHODS)}.")
    if options.baseline and options.baseline not in NAMES["ear"]:
        raise RequestError(
            f"landscape.baseline: {options.baseline!r} is not one of ear.{nearest(options.baseline, NAMES['ear'])}"
        )
    if options.baseline and method != "ear":
        raise RequestError(f"landscape.baseline: {options.baseline}: it is one of ear, not of {method}. Remove it.")
    if options.plane.replicates > options.replicates:
        raise RequestError(
            f"landscape.plane.replicates: {options.plane.replicates}, but there are {options.replicates}. Write fewer."
        )
    for key, parts in (("parts", options.parts), ("plane.parts", options.plane.parts)):
        if len(set(parts)) < len(parts):
            raise RequestError(f"landscape.{key}: {', '.join(parts)}: one stands there twice. Remove it.")
    if not options.labels and options.replicates < 2 and not options.directions:
        raise RequestError("landscape.replicates: one seed has no other to be compared with. Write 2 or more.")
