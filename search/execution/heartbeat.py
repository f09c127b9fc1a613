"""What the driver and its workers tell each other beside results, through Ray's key-value store: small and at once."""

import contextlib
import threading
import time

from seedwise.search.cluster.ray_internals import kv_delete, kv_get, kv_put


class Beat:
    """A thread that says every `seconds` that the run which its process works on is alive, within epochs too."""

    def __init__(self, seconds: float, node: str) -> None:
        self._key: bytes | None = None
        self._seconds, self._node = seconds, node
        threading.Thread(target=self._beat, daemon=True).start()

    def of(self, session: str, run: str) -> None:
        """From now on for this run; the first heartbeat comes at once, and says that it has begun."""
        self._key = key("beat", session, run)
        self._send()

    def _beat(self) -> None:
        while True:
            time.sleep(self._seconds)
            with contextlib.suppress(Exception):  # a head that does not answer now may answer the next time
                self._send()

    def _send(self) -> None:
        if self._key is not None:
            kv_put(self._key, f"{time.time()} {self._node}".encode())


def last_beat(session: str, run: str) -> bytes | None:
    """The last heartbeat of a run, of which only a change means something; None before the first."""
    return kv_get(key("beat", session, run))


def node_of(session: str, run: str) -> str:
    """The node of the worker that has this run; empty before its first heartbeat."""
    return (last_beat(session, run) or b"").decode().partition(" ")[2]


def forget(session: str, run: str) -> None:
    """Drop the heartbeat of a worker that does not have this run any more."""
    kv_delete(key("beat", session, run))


def ask_to_leave(session: str) -> None:
    """Ask the workers of a session to save the states of their runs after the epoch that they are in."""
    kv_put(key("leave", session))


def leaving(session: str) -> bool:
    """Whether the driver has asked for that."""
    return kv_get(key("leave", session)) is not None


def key(kind: str, session: str, run: str = "") -> bytes:
    return f"seedwise/{session}/{kind}/{run}".encode()
