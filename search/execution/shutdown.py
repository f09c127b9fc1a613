"""How a search is told to stop."""

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass
class Leaving:
    """Whether a session was told to stop: it starts nothing more, and runs save their state when their epoch ends."""

    by: float | None = None  # when this process ends, whatever still runs then; None: it goes on
    announced: bool = False  # people and workers know

    @property
    def asked(self) -> bool:
        return self.by is not None

    def ask(self, grace: float) -> None:
        """Be gone after `grace` seconds. Called by a signal, so it does no more than to set the time."""
        self.by = time.monotonic() + grace


class Leaver:
    """Ctrl-C and termination requests: the first asks a search to save what it can and leave, the second leaves."""

    def __init__(self, grace: float):
        self.grace = grace  # seconds
        self.leaving: Leaving | None = None

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
    def of(self, leaving: Leaving) -> Iterator[None]:
        """Signals in this block are for a session, which ends by itself."""
        self.leaving = leaving
        try:
            yield
        finally:
            self.leaving = None

    def hear(self, *_: object) -> None:
        if self.leaving is None or self.leaving.asked:
            raise KeyboardInterrupt
        self.leaving.ask(self.grace)
