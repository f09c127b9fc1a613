"""What a specification with a landscape means: one configuration, and nothing that is searched."""

from seedwise.errors import RequestError
from seedwise.spaces import load
from seedwise.trainables.methods import built_in

METRIC = "macro_f1"
SEARCH_ALONE = ("sampler", "budget", "replicates", "prune", "baselines", "decompose")  # keys that mean nothing here


def normalised(content: dict) -> dict:
    """Plain data of a specification with `landscape`, without what only a search has; the same a second time.

    Its configuration is the first that it enqueues, else the first that its space names. What ranks in a search is
    shown meanwhile, of the source; nothing is selected.
    """
    found = {key: value for key, value in content.items() if key not in SEARCH_ALONE}
    if isinstance(select := content.get("select", {}), dict):  # anything else is refused with all that is wrong
        found |= {"select": {"metric": select.get("metric", METRIC), "on": "source_dev"}}
    spec = built_in(content.get("method"))
    if spec and spec.landscape:
        params = first_of(content)
        # A space of one, so that nothing is read for others; what `compat` fixes is in the parameters.
        found |= {"space": params, "enqueue": [params], "compat": "ours"}
    return found


def first_of(content: dict) -> dict:
    """The one configuration that a specification means, in whole."""
    space = load(content["method"], content.get("space", "default"), content.get("compat", "ours"))
    enqueued = content.get("enqueue")
    enqueued = space.first() or [{}] if enqueued in (None, []) else enqueued
    if not isinstance(enqueued, list) or not isinstance(enqueued[0], dict):
        raise RequestError("enqueue", f"{enqueued!r}: write a list of configurations, such as [{{k: 10}}]")
    return space.complete(enqueued[0], "enqueue.0")
