"""What a library borrows from the process of its user, and gives back: environment variables, signal handlers."""

import contextlib
import os
import signal
import threading
from collections.abc import Iterator, Mapping

_changing = threading.Lock()
_changed: dict[str, tuple[str | None, int]] = {}  # variables that a block has set: what they were, and how many have


@contextlib.contextmanager
def environment(variables: Mapping[str, str | None]) -> Iterator[None]:
    """Environment variables for as long as the block lasts, or the last of the blocks of several threads.

    None takes a variable away.
    """
    with _changing:
        for name, value in variables.items():
            before, users = _changed.get(name, (os.environ.get(name), 0))
            _changed[name] = before, users + 1
            _set(name, value)
    try:
        yield
    finally:
        with _changing:
            for name in variables:
                before, users = _changed.pop(name)
                if users > 1:
                    _changed[name] = before, users - 1
                else:
                    _set(name, before)


def _set(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


@contextlib.contextmanager
def kept_handlers() -> Iterator[bool]:
    """Whoever handles a signal before this block handles it afterwards; whether handlers can be set in this thread."""
    here = threading.current_thread() is threading.main_thread()
    before = {kind: signal.getsignal(kind) for kind in (signal.SIGINT, signal.SIGTERM)} if here else {}
    try:
        yield here
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)
