"""Relative paths of a specification: they start in the folder in which its search was started."""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path

_FOLDER: ContextVar[Path] = ContextVar("folder", default=Path())  # the current folder, unless a search says otherwise


@contextlib.contextmanager
def relative_to(folder: Path) -> Iterator[None]:
    """In this block, paths of specifications and the modules that they name are those of `folder`.

    Without it they are those of the current folder, which a library must not change.
    """
    token = _FOLDER.set(folder)
    try:
        yield
    finally:
        _FOLDER.reset(token)


def folder() -> Path:
    """The folder itself."""
    return Path.cwd() / _FOLDER.get()


def resolved(name: str) -> Path:
    """Where a path of a specification is; `~` is the home folder.

    Workers run in the folder of their search, so that this, and plain relative names, work there too.
    """
    return _FOLDER.get() / Path(name).expanduser()
