"""Stops a search: nothing is left to start, the search cannot continue, or the user asked it to stop."""

import contextlib
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from seedwise.errors import SearchError
from seedwise.process import kept_handlers


@dataclass
class Shutdown:
    """Why a search starts no more runs. `grace`: seconds that running epochs have to end after a request to stop."""

    grace: float
    reason: str = ""  # why the phase has ended
    error: SearchError | None = None  # the search cannot continue
    deadline: float | None = None  # after a request to stop: when this process ends, whatever still runs
    announced: bool = False  # whether the user and the workers have been notified of the request
    graceful: bool = False  # whether Tune is running, and can let epochs end

    @property
    def requested(self) -> bool:
        return self.deadline is not None

    @property
    def begun(self) -> bool:
        return self.requested or self.error is not None

    def fail(self, error: SearchError) -> None:
        """Record that the search cannot continue. Only the first error counts."""
        self.error = self.error or error

    def request(self, *_: object) -> None:
        """Handle Ctrl-C or a termination request: the first lets running epochs end, the second ends at once."""
        if not self.graceful or self.requested:
            raise KeyboardInterrupt
        self.deadline = time.monotonic() + self.grace

    @contextlib.contextmanager
    def handling_signals(self) -> Iterator[Self]:
        with kept_handlers() as settable:
            for kind in (signal.SIGINT, signal.SIGTERM) if settable else ():
                signal.signal(kind, self.request)
            yield self
