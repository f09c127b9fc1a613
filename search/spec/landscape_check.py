"""What types cannot say about the landscape of a specification."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from seedwise.errors import RequestError
from seedwise.suggest import nearest
from seedwise.trainables.methods import METHODS, spec_of

if TYPE_CHECKING:
    from seedwise.search.spec.schema import Specification

LABELS = (
    "Models of the target and of both are trained on it. Add it, or compare seeds alone, without training on targets: "
    "--seeds-only, or landscape.labels: false."
)


def check_landscape(specification: "Specification") -> Iterable[RequestError]:
    """What a landscape could not begin with."""
    options, method = specification.landscape, specification.method
    able = [name for name in METHODS if spec_of(name).landscape]
    if method not in able:
        named = method if isinstance(method, str) else method.trainable
        yield RequestError("landscape", f"{named} has none", f"Choose one of {', '.join(able)}.")
        return
    spec, key = spec_of(method), f"landscape.baseline: {options.baseline}"
    if options.baseline and not spec.landscape.baselines:
        yield RequestError(key, f"no baseline of {method} has a landscape", "Remove it.")
    elif options.baseline and options.baseline not in spec.baselines:
        yield RequestError(key, f"there is no such baseline of {method}", nearest(options.baseline, spec.baselines))
    if options.plane.replicates > options.replicates:
        yield RequestError(
            "landscape.plane.replicates",
            f"{options.plane.replicates}, but there are {options.replicates}",
            "Write fewer.",
        )
    for key, parts in (("parts", options.parts), ("plane.parts", options.plane.parts)):
        if len(set(parts)) < len(parts):
            yield RequestError(f"landscape.{key}", f"{', '.join(parts)}: one stands there twice", "Remove it.")
    if not options.labels and options.replicates < 2 and not options.directions:
        yield RequestError("landscape.replicates", "one seed has no other to be compared with", "Write 2 or more.")
