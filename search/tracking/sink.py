"""The contract of a tracker: it receives nodes and updates from the mirror of the ledger."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

Key = tuple[()] | tuple[str] | tuple[str, int]  # search, configuration, run; the parent of a key is key[:-1]
TOP: Key = ()  # the search itself
FAILED = "failed"  # a status, besides the statuses of runs in the ledger


class Point(NamedTuple):
    """One value of one metric; `moment` is in milliseconds. If a step has two values, trackers show the later."""

    name: str
    value: float
    moment: int
    step: int


class Input(NamedTuple):
    """A file or folder that a search reads: the specification's key, the path, and the SHA-256."""

    key: str
    path: str
    checksum: str


@dataclass(frozen=True)
class Node:
    """The data that a search, a configuration or a run is created with; they never change."""

    name: str
    start: int  # milliseconds
    tags: Mapping[str, str]
    params: Mapping[str, str]
    inputs: Sequence[Input] = ()


@dataclass(frozen=True)
class Update:
    """A change of a node. Empty fields change nothing."""

    key: Key
    tags: Mapping[str, str] = field(default_factory=dict)
    points: Sequence[Point] = ()
    status: str = ""  # running, done, failed or interrupted
    moment: int = 0  # when the status was reached, in milliseconds
    files: Sequence[str] = ()  # names in the search folder; missing files are skipped
    pictures: bool = False  # the run may have drawn pictures


class Sink(Protocol):
    """A tracker, opened for one search. The follower, which may be killed at any time, reopens it after every failure.

    `position` is the text of the last `mark` that the tracker stores; empty before the first.
    """

    position: str

    def known(self) -> frozenset[Key]:
        """The nodes that the tracker has. They become fewer if the tracker is reset to an older state."""

    def write(self, updates: Sequence[Update], nodes: Mapping[Key, Node]) -> None:
        """Write updates in order. Writing an update again, in full or after a part of it, changes nothing more.

        Missing nodes, and their parents, are created from `nodes`.
        """

    def mark(self, position: str) -> None:
        """Store `position`. Called after all updates up to this position were written."""


@dataclass(frozen=True)
class Tracker:
    """A kind of tracker, listed in `TRACKERS`.

    `variable` is the environment variable with the whole address, for a specification that hides the password.
    """

    name: str  # in messages
    variable: str
    open: Callable[[str, dict, Path], Sink]  # takes an address, the ledger's first event and the search folder
    resolve: Callable[[str, Path], str]  # checks an address, and makes it absolute, based on a folder
    environment: Callable[[], AbstractContextManager]  # a block around the opening and writing of sinks
