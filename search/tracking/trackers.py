"""The trackers that a search can be written to, by the scheme of the address."""

import os
from pathlib import Path

from seedwise.credentials import HIDDEN, check_address
from seedwise.errors import RequestError
from seedwise.search.tracking.mlflow_sink import MLFLOW
from seedwise.search.tracking.sink import Tracker

TRACKERS = {"": MLFLOW}  # "": all schemes that are not listed


def tracker_of(uri: str) -> Tracker:
    """The tracker that an address belongs to."""
    return TRACKERS.get(uri.partition("://")[0]) or TRACKERS[""]


def address_of(uri: str) -> str:
    """The tracking address of a specification; if it lacks its password, the address in the environment."""
    if uri == "off":
        raise RequestError("tracking.uri", "it is off in this search", "Name a store with --uri.")
    tracker = tracker_of(uri)
    if HIDDEN not in uri:
        return tracker.resolve(uri, Path.cwd())
    if not (whole := os.environ.get(tracker.variable)):
        fix = f"Set {tracker.variable} to the whole address, and repeat."
        raise RequestError("tracking.uri", f"{uri} lacks its password", fix)
    check_address(tracker.variable, whole)
    return whole
