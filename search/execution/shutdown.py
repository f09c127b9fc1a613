"""How a search is told to stop."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Protocol


class Leaves(Protocol):
    """What can be told to stop: it ends by itself then."""

    leave_by: float | None

    def leave(self, grace: float) -> None: ...


class Leaver:
    """Ctrl-C and termination requests: the first asks a search to save what it can and leave, the second leaves."""

    def __init__(self, grace: float):
        self.grace = grace  # seconds
        self.session: Leaves | None = None

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
    def of(self, session: Leaves) -> Iterator[None]:
        """Signals in this block are for a session, which ends by itself."""
        self.session = session
        try:
            yield
        finally:
            self.session = None

    def hear(self, *_: object) -> None:
        if self.session is None or self.session.leave_by is not None:
            raise KeyboardInterrupt
        self.session.leave(self.grace)
