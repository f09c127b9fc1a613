"""Changes environment variables, signal handlers and log levels of the user's process, and restores them."""

import contextlib
import logging
import os
import signal
import threading
from collections.abc import Iterator, Mapping

_changing = threading.Lock()
_changed: dict[str, tuple[str | None, int]] = {}  # by variable: its value before, and how many blocks set it


@contextlib.contextmanager
def environment(variables: Mapping[str, str | None]) -> Iterator[None]:
    """Set environment variables during the block; if several threads set a variable, until their last block ends.

    None removes a variable.
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
    """Restore signal handlers after the block; yields whether the block may set handlers.

    Python can set handlers only in its main thread, and cannot restore a handler that was set outside Python (`None`).
    """
    is_main = threading.current_thread() is threading.main_thread()
    before = {kind: signal.getsignal(kind) for kind in (signal.SIGINT, signal.SIGTERM)} if is_main else {}
    try:
        yield is_main and None not in before.values()
    finally:
        for kind, handler in before.items():
            if handler is not None:
                signal.signal(kind, handler)


@contextlib.contextmanager
def quiet(level: int, *names: str) -> Iterator[None]:
    """In this block, the loggers of these names drop messages below `level`."""
    before = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(level)
    try:
        yield
    finally:
        for name, earlier in before.items():
            logging.getLogger(name).setLevel(earlier)
