"""The contract of a tracker: nodes that the mirror of the ledger describes, and updates that it yields."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

Key = tuple[()] | tuple[str] | tuple[str, int]  # search, configuration, run; the parent of a key is key[:-1]
TOP: Key = ()  # of the search itself
FAILED = "failed"  # a status, beside those of a run in the ledger


class Point(NamedTuple):
    """One value of one metric; `moment` in milliseconds. Of two at one step, the later one is shown."""

    name: str
    value: float
    moment: int
    step: int


class Input(NamedTuple):
    """A file or folder that a search reads: the specification's key, its path, and its SHA-256."""

    key: str
    path: str
    checksum: str


@dataclass(frozen=True)
class Node:
    """What a search, a configuration or a run is created with. It never changes."""

    name: str
    start: int  # milliseconds
    tags: Mapping[str, str]
    params: Mapping[str, str]
    inputs: Sequence[Input] = ()


@dataclass(frozen=True)
class Update:
    """What is new of a node. Whatever is left empty stays as it is."""

    key: Key
    tags: Mapping[str, str] = field(default_factory=dict)
    points: Sequence[Point] = ()
    status: str = ""  # running, done, failed or interrupted
    moment: int = 0  # milliseconds; when the status was reached
    files: Sequence[str] = ()  # of the search folder, as far as they are there
    pictures: bool = False  # the run may have drawn some, into the search folder


class Sink(Protocol):
    """A tracker, opened for one search. The follower opens it anew after every failure, and may be killed at any time.

    `position` is how far the tracker itself says it got: the text of the last `mark`, empty before the first.
    """

    position: str

    def known(self) -> frozenset[Key]:
        """The nodes that the tracker has, so that one that was set back to an older state is recognised."""

    def write(self, updates: Sequence[Update], nodes: Mapping[Key, Node]) -> None:
        """Bring updates in, in their order. Writing an update twice, or a part of it first, is writing it once.

        A node that is missing is created, with its parents, from `nodes`.
        """

    def mark(self, position: str) -> None:
        """Note how far the tracker got. Called after all updates up to there were written."""
