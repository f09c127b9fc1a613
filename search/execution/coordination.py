"""Coordinates the processes of a session through Ray's key-value store: heartbeats, common start, requests to stop."""

import contextlib
import threading
import time
import uuid

from seedwise.search.cluster.ray_internals import kv_delete, kv_get, kv_keys, kv_put

POLL_SECONDS = 0.01


class Heartbeat:
    """A thread that reports every `seconds` that the process of the current run is alive, also during an epoch."""

    def __init__(self, seconds: float, node: str):
        self._seconds, self._node, self._key = seconds, node, b""
        threading.Thread(target=self._repeat, daemon=True).start()

    def start_run(self, session: str, run: str) -> None:
        """Report for this run from now on. Sends the first heartbeat at once: the time of a run counts from it."""
        self._key = _key("heartbeat", session, run)
        self._send()

    def _repeat(self) -> None:
        while True:
            time.sleep(self._seconds)
            with contextlib.suppress(Exception):  # the head may answer next time
                self._send()

    def _send(self) -> None:
        if self._key:
            kv_put(self._key, f"{time.time()} {self._node}".encode())


def last_heartbeat(session: str, run: str) -> bytes | None:
    """The last heartbeat of a run; None before the first. Only check whether it changed: clocks of nodes differ."""
    return kv_get(_key("heartbeat", session, run))


def node_of(session: str, run: str) -> str:
    """The node of the worker that has this run; empty before the first heartbeat."""
    return (last_heartbeat(session, run) or b"").decode().partition(" ")[2]


def clear_heartbeat(session: str, run: str) -> None:
    """Forget the heartbeat of a worker that no longer has this run."""
    kv_delete(_key("heartbeat", session, run))


def request_stop(session: str) -> None:
    """Ask the workers of a session to save their runs when the current epoch ends."""
    kv_put(_key("stop", session))


def stop_requested(session: str) -> bool:
    return kv_get(_key("stop", session)) is not None


def begin_together(session: str, workers: int, *, timeout: float) -> None:
    """Wait until this many workers of the session have called this function, at most `timeout` seconds.

    Tune gives a run that waits for its own worker to any worker that is free earlier, and discards the worker that
    was starting. If runs are shorter than the start of a process (seconds: it imports torch), all slots but one would
    stay empty for the whole search. So the first run of each worker waits until every slot has a worker.
    """
    prefix = _key("started", session)
    kv_put(prefix + uuid.uuid4().bytes)
    deadline = time.monotonic() + timeout
    while len(kv_keys(prefix)) < workers and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)


def _key(kind: str, session: str, run: str = "") -> bytes:
    return f"seedwise/{session}/{kind}/{run}".encode()
