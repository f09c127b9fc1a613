"""The append-only log of a search, from which all its other files can be derived.

Each line is a JSON object, and counts once its newline is on disk. If a write is cut off at any byte, only that line is
lost, and nothing has relied on it yet.
"""

import fcntl
import json
import os
import time
from pathlib import Path

from seedwise.errors import RequestError, SearchError
from seedwise.files import check_file_name
from seedwise.folder import LEDGER
from seedwise.program import called
from seedwise.search.ledger.state import State, replay


class Ledger:
    """The ledger of one search folder, open for writing by exactly one process."""

    def __init__(self, path: Path):
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = open(self.path, "ab", buffering=0)  # noqa: SIM115 (stays open for the whole search)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            problem = "another process is running this search"
            raise RequestError(str(self.path), problem, "Wait for it, or choose another folder (--out).") from None
        events, whole = scan(self.path)
        self._file.truncate(whole)  # drop an incomplete last line: nothing has relied on it
        self._whole = whole  # bytes
        self.state = replay(events)

    def append(self, event: dict, *, durable: bool = True) -> None:
        """Write one line, then apply it to the state. `durable=False` skips fsync, for lines that may be lost (steps).

        If the disk is full, the search cannot continue: the line is removed, and its event does not count.
        """
        event = {**event, "time": round(time.time(), 3)}
        line = json.dumps(event, ensure_ascii=False, allow_nan=False).encode() + b"\n"
        try:
            written = 0
            while written < len(line):
                written += self._file.write(line[written:])
            if durable:
                os.fsync(self._file.fileno())
            self._whole += written
        except OSError as error:
            self._file.truncate(self._whole)  # needs no disk space
            raise SearchError(
                f"{self.path}: {error.strerror}. Make room there, then: {called('resume', self.path.parent)}"
            ) from error
        self.state.apply(event)

    def close(self) -> None:
        self._file.close()


def scan(path: Path, start: int = 0, most: int = -1) -> tuple[list[dict], int]:
    """The events of the complete lines from byte `start` on, and the position after the last of these lines.

    `most` limits the bytes that are read (default: all); the first line is read in full, however long it is.
    """
    with open(path, "rb") as file:
        file.seek(start)
        content = file.read(most)
        if b"\n" not in content:
            content += file.readline()
    whole = content.rfind(b"\n") + 1
    events = []
    for number, line in enumerate(content[:whole].splitlines(), start=1):
        try:
            event = json.loads(line)
        except ValueError:
            number += path.read_bytes()[:start].count(b"\n")
            fix = f"The lines before it are good: keep them with `head -n {number - 1}`, then resume."
            raise RequestError(f"{path} line {number}", "it is not JSON", fix) from None
        check_names(f"{path} line {number}", event)
        events.append(event)
    return events, start + whole


def check_names(where: str, event: dict) -> None:
    """Refuse ids and replicates that could lead to files in other folders: file names are made of them."""
    if not isinstance(event, dict):
        return  # `replay` refuses it
    for key in ("search_id", "config_id"):
        if key in event:
            check_file_name(f"{where}: {key}", event[key])
    if type(event.get("replicate", 0)) is not int:
        problem = f"{event['replicate']!r} is not a number"
        raise RequestError(f"{where}: replicate", problem, "Undo the change of that line.")


def busy(path: Path) -> bool:
    """Whether a process is writing this ledger now."""
    with open(path, "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def read(path: Path) -> State:
    """The state of a ledger, also while another process writes it. If none does, running runs become interrupted."""
    if not Path(path).exists():
        return State()
    alive = busy(path)
    state = replay(scan(path)[0])
    if not alive:
        state.interrupt_runs()
    return state


def read_search(folder: Path) -> State:
    """The state of the search in a folder. Raises RequestError if there is no search."""
    state = read(folder / LEDGER)
    if not state.search:
        raise RequestError(str(folder), "there is no search here", f"Name the folder that has its {LEDGER}.")
    return state
