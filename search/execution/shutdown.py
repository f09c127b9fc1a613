"""How a search is told to stop."""

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

from seedwise.errors import SearchError


@dataclass
class Shutdown:
    """Why a session starts nothing more. Told to stop, it lets runs save their state when their epoch ends."""

    because: str = ""  # nothing is left to be started
    error: SearchError | None = None  # the search cannot go on
    by: float | None = None  # told to stop: when this process ends, whatever still runs then
    announced: bool = False  # people and workers know that it was told to stop

    @property
    def asked(self) -> bool:
        return self.by is not None

    @property
    def begun(self) -> bool:
        return self.asked or self.error is not None

    def fail(self, error: SearchError) -> None:
        """The first error counts."""
        self.error = self.error or error

    def ask(self, grace: float) -> None:
        """Be gone after `grace` seconds. Called by a signal, so it does no more than to set the time."""
        self.by = time.monotonic() + grace


class Leaver:
    """Ctrl-C and termination requests: the first asks a search to save what it can and leave, the second leaves."""

    def __init__(self, grace: float):
        self.grace = grace  # seconds
        self.shutdown: Shutdown | None = None

    @contextlib.contextmanager
    def listening(self) -> Iterator["Leaver"]:
        here = threading.current_thread() is threading.main_thread()  # elsewhere Python sets no handlers
        kinds = (signal.SIGINT, signal.SIGTERM) if here else ()
        before = {kind: signal.signal(kind, self.hear) for kind in kinds}
        try:
            yield self
        finally:
            for kind in kinds:
                signal.signal(kind, before[kind])

    @contextlib.contextmanager
    def of(self, shutdown: Shutdown) -> Iterator[None]:
        """Signals in this block are for a session, which ends by itself."""
        self.shutdown = shutdown
        try:
            yield
        finally:
            self.shutdown = None

    def hear(self, *_: object) -> None:
        if self.shutdown is None or self.shutdown.asked:
            raise KeyboardInterrupt
        self.shutdown.ask(self.grace)
