"""Completes and checks the specification of a landscape, which has one configuration and no search."""

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from seedwise.errors import RequestError, nearest
from seedwise.trainables.methods import METHODS, built_in, spec_of

if TYPE_CHECKING:
    from seedwise.search.spec.schema import Specification

# Keys without effect in a landscape.
SEARCH_KEYS = ("sampler", "budget", "replicates", "prune", "baselines", "baseline_lengths", "decompose")
NEEDS_LABELS = (
    "Models of the target and of both are trained on it. Add it, or compare seeds alone, without training on targets: "
    "--seeds-only, or landscape.labels: false."
)


def completed(specification: "Specification") -> dict:
    """Plain data of a specification with `landscape`, without the keys of a search or a confirmation; idempotent.

    The configuration is the first of `enqueue`, or else the first of its space. While models train, the metric that
    ranks in a search is shown on the source; nothing is selected.
    """
    content = specification.as_dict()
    content["replicates"] = {"confirm": {"top": 0}}  # so that no test set is looked for
    content["select"] = {"metric": content["select"]["metric"]}
    spec = built_in(specification.method)
    if spec and spec.landscape:
        with suppress(RequestError):  # a check reports it
            space = specification.parts.space
            params = space.complete([*(specification.enqueue or []), *space.first(), {}][0])
            # A space of one configuration: no input is read for others. What `compat` fixes is among its parameters.
            content |= {"space": params, "enqueue": [params], "compat": "ours"}
    return content


def check_landscape(specification: "Specification") -> Iterable[RequestError]:
    """Find the problems that would keep a landscape from starting."""
    options, method = specification.landscape, specification.method
    able = [name for name in METHODS if spec_of(name).landscape]
    if method not in able:
        name = method if isinstance(method, str) else method.trainable
        yield RequestError("landscape", f"{name} has no landscape", f"Choose one of {', '.join(able)}.")
        return
    spec, key = spec_of(method), "landscape.baseline"
    if options.baseline and not spec.landscape.baselines:
        yield RequestError(key, f"{options.baseline}: no baseline of {method} has a landscape", "Remove it.")
    elif options.baseline and options.baseline not in spec.baselines:
        yield RequestError(
            key, f"{options.baseline}: {method} has no such baseline", nearest(options.baseline, spec.baselines)
        )
    if options.plane.replicates > options.replicates:
        problem = f"{options.plane.replicates}, but there are {options.replicates}"
        yield RequestError("landscape.plane.replicates", problem, "Write fewer.")
    for key, parts in (("parts", options.parts), ("plane.parts", options.plane.parts)):
        if len(set(parts)) < len(parts):
            yield RequestError(f"landscape.{key}", f"{', '.join(parts)}: a part is listed twice", "Remove it.")
    if not options.labels and options.replicates < 2 and not options.directions:
        yield RequestError("landscape.replicates", "a single seed cannot be compared", "Write 2 or more.")
