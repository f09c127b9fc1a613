"""Why a run lost its worker, and when it has lost it too often to be started once more."""

import re
from collections.abc import Collection, Sequence
from importlib.util import find_spec
from pathlib import Path

from seedwise.search.cluster.ray_internals import what_happened

NODE = "its node was lost"
SILENT = "its worker gave no sign of life"
DIED = "its worker process died"
OUT_OF_MEMORY = "its worker was ended since the memory of its node ran out"
RESTARTS = 2  # of a run whose worker process died: it goes on from its last saved state
NODES = 20  # nodes that a run may lose: hardly its own fault, but one that takes its node down must end
NOT_STARTED = "its worker could not start"
ENDED_AT_START = f"{NOT_STARTED}: its process ended before the first step"
ALIKE = 3  # configurations whose runs all lack one package, after which the search stops: others may not need it
NO_IMPORT = ("ModuleNotFoundError", "ImportError")  # how the error of a run begins that lacks a package
TAIL = 10_000  # characters of Tune's error file that hold the last error


def cause_of(error_file: Path) -> str:
    """In words, from what Ray said of it."""
    try:
        text = error_file.read_text(errors="replace")[-TAIL:]
    except OSError:
        return DIED
    kind = what_happened(text)
    if kind in ("memory", "node", "process"):
        return {"memory": OUT_OF_MEMORY, "node": NODE, "process": DIED}[kind]
    last = text.strip().splitlines()[-1][:300]
    return f"{NOT_STARTED if kind == 'start' else 'its worker failed'}: {last}"


def lacks_module(error: str) -> bool:
    """Whether the error of a run names a module that this process cannot find either."""
    named = re.match(r"ModuleNotFoundError: No module named '([\w.]+)'", error)
    try:
        return named is not None and find_spec(named[1]) is None
    except ModuleNotFoundError:  # the package that it is in
        return True


def lost_too_often(losses: Sequence[tuple[str, str]], alive: Collection[str]) -> bool:
    """Whether a run that has lost its worker for these reasons, on these nodes, is not started again.

    A worker dies with its node, and that is often seen first: on a node that is not among those `alive`, it was that.
    """
    by_node = sum(because == NODE or bool(node and node not in alive) for because, node in losses)
    return by_node > NODES or len(losses) - by_node > RESTARTS
