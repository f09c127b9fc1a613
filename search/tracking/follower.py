"""The follower: the process that writes the ledger to a tracker.

The follower reads the ledger while the search writes it. An outage of the tracker delays its pages but never stops or
slows a search: the driver neither imports the tracker nor waits for it. The follower asks the tracker which nodes it
has, so a new follower completes whatever a killed follower or a deleted database left incomplete.
"""

import contextlib
import fcntl
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import seedwise
from seedwise.credentials import mask
from seedwise.errors import RequestError
from seedwise.exit_codes import DONE, INCOMPLETE, WRONG
from seedwise.folder import LEDGER
from seedwise.program import command
from seedwise.search.ledger.file import busy, scan
from seedwise.search.tracking.mirror import Mirror
from seedwise.search.tracking.sink import Key, Sink, Tracker, Update
from seedwise.search.tracking.trackers import TRACKERS, address_of, tracker_of

POLL = 0.5  # seconds between two reads of the ledger
REST, MAX_REST = 4, 5.0  # rest 4 times as long as writing took, at most 5 seconds: the CPUs belong to the search
GRACE, TRACK_GRACE = 60.0, 5.0  # seconds to keep trying after a search, and while a user waits
CHUNK = 1 << 20  # bytes of the ledger to read at once: their updates take a few times as much memory
PART = 20  # updates to write at once, and to repeat after a failure


def start_follower(folder: Path, uri: str = "") -> subprocess.Popen:
    """Follow the ledger of a search folder until `finish`, or until this process ends or is killed.

    `uri` is needed only if the ledger's address lacks its password. The environment passes `uri` to the follower, so
    other users cannot read it. The follower's output goes to tracking.log.
    """
    paths = [str(Path(seedwise.__file__).resolve().parent.parent), os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "PYTHONSAFEPATH": "1",  # do not import a folder `seedwise` in the current directory
        **({tracker_of(uri).variable: uri} if uri else {}),
    }
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "tracking.log", "ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "seedwise.search.tracking.follower", str(folder.resolve())],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,  # Ctrl-C in the terminal must reach only the search
        )


def finish(process: subprocess.Popen, timeout: float) -> bool:
    """Let the follower catch up and end. Returns whether all is written; after `timeout` the follower goes on alone."""
    process.stdin.close()
    try:
        return process.wait(timeout) == DONE
    except subprocess.TimeoutExpired:
        return False


class Follower:
    """Writes the ledger to a tracker until the search is over and all is written.

    The ledger is the queue: the next part is read only when the tracker has the previous part, so memory does not grow
    during an outage. `uri` is the tracker's address (default: the specification's). `progress` is called with the
    number of bytes of the ledger that are written, and the total.
    """

    def __init__(
        self,
        folder: Path,
        over: threading.Event,
        uri: str = "",
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> None:
        self.trouble = ""  # why the tracker cannot be written; empty while it can
        self.address = uri
        self._folder, self._over, self._progress = folder, over, progress
        self._tracker: Tracker | None = None  # known once there is an address
        self._environment = contextlib.ExitStack()  # block of the tracker, open until all is written
        self._lock = open(folder / "tracking.log", "ab")  # noqa: SIM115 (held as long as this process lives)
        self._mirror = Mirror()
        self._end = 0  # bytes of the ledger read so far
        self._updates: list[Update] = []  # read but not written yet
        self._behind = False  # there may be more to read without waiting
        self._sink: Sink | None = None
        self._position = ""  # the last position marked in the tracker
        self._had: frozenset[Key] = frozenset()  # the tracker's nodes before the last failure
        self._doubtful = False  # a request failed, but the server may have carried it out

    @property
    def where(self) -> str:
        """The tracker and its address, for messages."""
        return f"{tracker_of(self.address).name} at {mask(self.address)}"

    def follow(self, grace: float) -> bool:
        """Write until the search is over, then `grace` seconds more without success. Returns whether all is written."""
        with self._environment:
            return self._follow(grace)

    def _follow(self, grace: float) -> bool:
        failures, success = 0, time.monotonic()
        while True:
            last, began, left = self._over.is_set(), time.monotonic(), len(self._updates)
            if self._advance(last=last):
                failures, success = 0, time.monotonic()
                if self._behind:
                    continue
                if last:
                    return True
                self._over.wait(min(max(POLL, REST * (time.monotonic() - began)), MAX_REST))
                continue
            if not last or len(self._updates) < left:
                success = time.monotonic()
            if time.monotonic() - success > grace:
                return False
            time.sleep(min(POLL * 2**failures, MAX_REST))
            failures += 1

    def _advance(self, *, last: bool) -> bool:
        """Read and write the next part of the ledger. Returns whether that worked; it does if there is no ledger."""
        path = self._folder / LEDGER
        if not path.exists() or not (first := scan(path, most=1)[0]):
            return True
        if not self._tracker:
            self.address = self.address or address_of(first[0]["specification"]["tracking"]["uri"])
            self._tracker = tracker_of(self.address)
            self._environment.enter_context(self._tracker.environment())
        if last and self._doubtful:
            self._lose_sink()  # the next sink removes runs that were created twice
            self._doubtful = False
        if self._sink is None and not (self._attempt(lambda: self._connect(first[0])) and self._catch_up(path)):
            return False
        self._behind = bool(self._updates)  # a failure left updates: write them before reading on
        if not self._updates:
            events, self._end = scan(path, self._end, CHUNK)
            self._behind = bool(events) and self._end < path.stat().st_size
            self._updates = self._mirror.take(events, last=last and not self._behind)
        if not self._attempt(self._write):
            return False
        self._progress(self._end, path.stat().st_size)
        return True

    def _connect(self, search: dict) -> None:
        """Open the tracker. Fails while another follower has the folder: two would create nodes twice."""
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RuntimeError("another process is writing this search to it") from None
        self._sink = self._tracker.open(self.address, search, self._folder)

    def _catch_up(self, path: Path) -> bool:
        """Continue at the tracker's position, or at the first line if it lost a node. Returns whether that worked.

        Before starting over it resets the position, so that if this process is killed meanwhile, the next follower
        does not take the tracker to be complete.
        """
        position, known = self._sink.position, self._sink.known()
        if position == self._position and self._had <= known:
            return True
        self._restart(path, position)
        if self._mirror.nodes.keys() <= known:
            return True
        self._restart(path, "")
        return self._attempt(lambda: self._sink.mark(""))

    def _restart(self, path: Path, position: str) -> None:
        """Rebuild the mirror up to `position` in the ledger, without writing."""
        self._mirror, self._end, self._updates, self._position = Mirror(), 0, [], position
        end = covered(path, position)
        while self._end < end:
            events, self._end = scan(path, self._end, min(CHUNK, end - self._end))
            self._mirror.take(events)

    def _write(self) -> None:
        while self._updates:
            self._sink.write(self._updates[:PART], self._mirror.nodes)
            del self._updates[:PART]
        if self._position != self._mirror.position:
            self._sink.mark(self._mirror.position)
            self._position = self._mirror.position

    def _lose_sink(self) -> None:
        if self._sink:
            self._had, self._sink = self._sink.known(), None

    def _attempt(self, action: Callable[[], None]) -> bool:
        """Run `action`. Returns whether it worked; any error counts as an outage, which is printed once."""
        try:
            action()
        except Exception as error:
            reason = mask(f"{type(error).__name__}: {error}", self.address).split("\n")[0][:300]
            if not self.trouble:
                print(f"{self.where} cannot be written, trying again. {reason}", flush=True)
            self._lose_sink()
            self.trouble, self._doubtful = reason, True
            return False
        if self.trouble:
            print(f"{self.where} answers again.", flush=True)
        self.trouble = ""
        return True


def covered(path: Path, position: str) -> int:
    """The number of bytes of a ledger that a `Mirror.position` covers; 0 if it belongs to another ledger."""
    lines = int(position.split()[0]) if position else 0
    with open(path, "rb") as file:
        line = next(islice(file, lines - 1, lines), b"") if lines else b""
        fits = line.endswith(b"\n") and position == f"{lines} lines until {json.loads(line).get('time')}"
        return file.tell() if fits else 0


def track(folder: Path, uri: str, progress: Callable[[int, int], None]) -> str:
    """Write a whole search that is not running to a store. Returns why that failed, or an empty string.

    `uri` is the store's address (empty: the specification's). Existing data in the store are left unchanged, so
    tracking twice changes nothing.
    """
    if busy(folder / LEDGER):
        raise RequestError(str(folder), "this search is running, and tracks itself", "Wait until it has ended.")
    over = threading.Event()
    over.set()
    try:
        follower = Follower(folder, over, tracker_of(uri).resolve(uri, Path.cwd()) if uri else "", progress)
    except OSError as error:
        fix = "Copy the folder to a place where you can write."
        raise RequestError(f"{folder}/tracking.log", error.strerror, fix) from error
    return "" if follower.follow(TRACK_GRACE) else follower.trouble


def _watch_input(over: threading.Event) -> None:
    """Set `over` when standard input ends, which happens when the parent process ends or is killed."""
    with contextlib.suppress(OSError):  # there may be no standard input
        while os.read(0, 4096):
            pass
    over.set()


class _Masked(io.TextIOWrapper):
    """Hides the password of the tracking address in the output of this process and its libraries."""

    def write(self, text: str) -> int:
        for tracker in TRACKERS.values():
            text = mask(text, os.environ.get(tracker.variable, ""))
        return super().write(text)


def main(folder: Path, grace: float = GRACE) -> int:
    """Follow a search folder until standard input ends, and at most `grace` seconds longer. Returns the exit code."""
    sys.stdout, sys.stderr = (
        _Masked(stream.detach(), encoding="utf-8", line_buffering=True) for stream in (sys.stdout, sys.stderr)
    )
    os.nice(5)  # the CPUs belong to the search
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # sent to all processes of a stopped job
    over = threading.Event()
    threading.Thread(target=_watch_input, args=(over,), daemon=True).start()
    try:
        follower = Follower(folder, over)
        if follower.follow(grace):
            return DONE
    except RequestError as error:
        print(f"seedwise: {error}", flush=True)
        return WRONG
    print(
        f"seedwise: {follower.where} is incomplete ({follower.trouble}). "
        f"This completes the tracking: {command('resume', folder)}",
        flush=True,
    )
    return INCOMPLETE


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *map(float, sys.argv[2:])))
