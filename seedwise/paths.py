"""Resolves the relative paths of a specification against the folder in which its search was started."""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path

_FOLDER: ContextVar[Path] = ContextVar("folder", default=Path())  # the current folder, unless a search says otherwise


@contextlib.contextmanager
def relative_to(folder: Path) -> Iterator[None]:
    """In this block, relative paths and modules of specifications are looked up in `folder`.

    Otherwise they are looked up in the current folder of the process, which a library must not change.
    """
    token = _FOLDER.set(folder)
    try:
        yield
    finally:
        _FOLDER.reset(token)


def folder() -> Path:
    """The absolute path of the folder that relative paths start in."""
    return Path.cwd() / _FOLDER.get()


def resolved(name: str) -> Path:
    """The location of a path of a specification; `~` is the home folder.

    Workers run in the folder of their search, so the result, and plain relative paths, are valid there too.
    """
    return _FOLDER.get() / Path(name).expanduser()
