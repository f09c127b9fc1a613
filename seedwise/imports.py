"""Code that a specification names: a method, a space or a policy of one's own."""

import contextlib
import sys
from collections.abc import Iterator
from importlib import import_module, invalidate_caches
from pathlib import Path
from typing import Any

from seedwise import paths
from seedwise.errors import RequestError


def import_path(path: str, key: str) -> Any:
    """The object that `package.module:name` names, with the module in the specification's folder or installed.

    `key` is the key of the specification that has the path.
    """
    module, _, name = path.partition(":")
    folder = paths.folder()
    try:
        with importable(folder):
            invalidate_caches()  # of folders that were looked at before this file was written
            _refuse_another(module.partition(".")[0], folder)
            return getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise RequestError(
            f"{key}: {path}: {error}. Write package.module:name, with the module in {_called(folder)} or installed."
        ) from error


@contextlib.contextmanager
def importable(folder: Path) -> Iterator[None]:
    """In this block, modules of a folder are imported before any others of their names, as in a script that lies there.

    Ray's workers look for modules in this order too.
    """
    entry = str(folder)
    sys.path.insert(0, entry)
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):  # somebody else has taken it off
            sys.path.remove(entry)


def _refuse_another(name: str, folder: Path) -> None:
    """Refuse the file of a module in `folder` where this process has another one by that name, which would be taken."""
    file = next((path for path in (folder / f"{name}.py", folder / name / "__init__.py") if path.is_file()), None)
    known = sys.modules.get(name)
    if file and known and not (known.__file__ and file.samefile(known.__file__)):
        raise ImportError(f"this process has another module {name!r} ({known.__file__}); rename {file.name}")


def _called(folder: Path) -> str:
    return "this folder" if folder == Path.cwd() else str(folder)
