"""Finds out why a run lost its worker, and whether it has lost too many workers to continue."""

import re
from collections.abc import Collection, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from seedwise.credentials import mask
from seedwise.search.cluster.ray_internals import what_happened

NODE = "its node was lost"
SILENT = "its worker sent no heartbeat"
DIED = "its worker process died"
OUT_OF_MEMORY = "its worker was ended since the memory of its node ran out"
NOT_STARTED = "its worker could not start"
RESTARTS = 2  # of a run whose worker process died: it continues from its last checkpoint
NODES = 20  # nodes that a run may lose: rarely the fault of the run, but a run that crashes its nodes must end
IMPORT_ERRORS = ("ModuleNotFoundError", "ImportError")  # how the error of a run that lacks a package begins
SAME_IMPORT_ERRORS = 3  # configurations: if no other run has ended, and all of these failed alike, the search stops
TAIL = 10_000  # characters of Tune's error file that hold the last error


class Loss(NamedTuple):
    """Why a worker was lost. `at_start` is the error that kept it from starting; empty if it had begun a run."""

    reason: str
    at_start: str = ""

    @classmethod
    def before_start(cls, error: str) -> "Loss":
        return cls(f"{NOT_STARTED}: {error}", error)


ENDED_AT_START = Loss.before_start("its process ended before the first step")


def cause_of(error_file: Path) -> Loss:
    """Find out why Ray lost a worker, from Tune's error file."""
    try:
        text = error_file.read_text(errors="replace")[-TAIL:]
    except OSError:
        return Loss(DIED)
    kind = what_happened(text)
    if kind in ("memory", "node", "process"):
        return Loss({"memory": OUT_OF_MEMORY, "node": NODE, "process": DIED}[kind])
    last = mask(text.strip().splitlines()[-1][:300])
    return Loss.before_start(last) if kind == "start" else Loss(f"its worker failed: {last}")


def lacks_module(error: str) -> bool:
    """Whether the error of a run names a module that this process cannot find either; False if it is unclear."""
    named = re.match(r"ModuleNotFoundError: No module named '([\w.]+)'", error)
    try:
        return named is not None and find_spec(named[1]) is None
    except ModuleNotFoundError:  # its parent package is missing too
        return True
    except Exception:  # unclear: looking for a.b imports a, which may raise anything. The caller records `error` itself
        return False


def lost_too_often(losses: Sequence[tuple[str, str]], alive: Collection[str]) -> bool:
    """Whether a run with these losses, pairs (reason, node), has lost too many workers, and so has failed.

    A worker that dies with its node is often reported first: if its node is not `alive`, the node counts as lost.
    """
    by_node = sum(reason == NODE or bool(node and node not in alive) for reason, node in losses)
    return by_node > NODES or len(losses) - by_node > RESTARTS
