"""Imports the user's own methods, spaces and policies."""

import contextlib
import sys
from collections.abc import Iterator
from importlib import import_module, invalidate_caches
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from seedwise import paths
from seedwise.errors import RequestError

MOVED = ("search", "spaces", "trainables")  # top-level packages until version 0.8, now inside `seedwise`


def import_path(path: str, key: str) -> Any:
    """Import the object at `package.module:name`, from the folder of the search or from an installed package.

    `key` is the key of the specification that holds the path; errors name it.
    """
    module, _, name = path.partition(":")
    folder = paths.folder()
    try:
        with importable():
            _load(module.partition(".")[0], folder)
            return getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        missing = (getattr(error, "name", None) or "").partition(".")[0]
        where = "this folder" if folder == Path.cwd() else folder
        fix = f"Write package.module:name, with the module in {where} or installed."
        if missing in MOVED:
            fix += f" Seedwise's own {missing!r} is now 'seedwise.{missing}'."
        raise RequestError(key, f"{path}: {error}", fix) from error


@contextlib.contextmanager
def importable() -> Iterator[None]:
    """In this block, modules in `paths.folder()` can be imported; an installed module of the same name comes first.

    Use it around every call of the user's own code: a function may import neighbouring modules when it runs.
    """
    entry = str(paths.folder())
    sys.path.append(entry)
    invalidate_caches()  # a file may be newer than Python's list of its folder
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):  # other code may have removed the entry
            sys.path.reverse()
            sys.path.remove(entry)  # removes the first match, but our entry is the last
            sys.path.reverse()


@contextlib.contextmanager
def imported() -> Iterator[None]:
    """Like `importable`, but unload the folder's modules after the block: another folder may use the same names."""
    before, folder = set(sys.modules), paths.folder()
    try:
        with importable():
            yield
    finally:
        new = [name for name in sys.modules if name not in before]
        tops = {name: getattr(sys.modules[name], "__file__", None) for name in new if "." not in name}
        own = {name for name, file in tops.items() if file and file == str(_file(name, folder))}
        for name in new:
            if name.partition(".")[0] in own:
                del sys.modules[name]


def _file(name: str, folder: Path) -> Path | None:
    """The file of a module or package in `folder`; None if there is none."""
    return next((path for path in (folder / f"{name}.py", folder / name / "__init__.py") if path.is_file()), None)


def _load(name: str, folder: Path) -> None:
    """Load a module or package from `folder` if it is there, even if a module of the same name is installed."""
    file = _file(name, folder)
    if file is None:
        return
    if known := sys.modules.get(name):
        loaded = getattr(known, "__file__", None)
        if not loaded or not file.samefile(loaded):
            raise ImportError(f"this process has another module {name!r} ({loaded or 'built in'}); rename {file.name}")
        return
    inside = [str(file.parent)] if file.name == "__init__.py" else None
    spec = spec_from_file_location(name, file, submodule_search_locations=inside)
    module = sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]  # or the next import would get the half-initialized module
        raise
