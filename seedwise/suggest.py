"""A suggestion for a name that is not known."""

import difflib
from collections.abc import Iterable


def nearest(name: str, known: Iterable) -> str:
    """'Did you mean ...?' with the closest known name, or all of them."""
    close = difflib.get_close_matches(str(name), [str(key) for key in known], n=1, cutoff=0.5)
    return f"Did you mean {close[0]}?" if close else f"There are: {', '.join(map(str, known))}."
