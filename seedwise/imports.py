"""Code that a specification names: a method, a space or a policy of one's own."""

import contextlib
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
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
            _load(module.partition(".")[0], folder)
            return getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise RequestError(
            f"{key}: {path}: {error}. Write package.module:name, with the module in {_called(folder)} or installed."
        ) from error


@contextlib.contextmanager
def importable(folder: Path) -> Iterator[None]:
    """In this block, modules of a folder can be imported by name, after all that is installed."""
    entry = str(folder)
    if entry in sys.path:
        yield
        return
    sys.path.append(entry)
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):  # somebody else has taken it off
            sys.path.remove(entry)


def _load(name: str, folder: Path) -> None:
    """Load a module or package by its file in `folder`, if it is there: whatever else has its name is not meant."""
    file = next((path for path in (folder / f"{name}.py", folder / name / "__init__.py") if path.is_file()), None)
    if file is None:
        return
    if known := sys.modules.get(name):
        if not known.__file__ or not file.samefile(known.__file__):
            raise ImportError(f"this process has another module {name!r} ({known.__file__}); rename {file.name}")
        return
    inside = [str(file.parent)] if file.name == "__init__.py" else None
    spec = spec_from_file_location(name, file, submodule_search_locations=inside)
    module = sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise


def _called(folder: Path) -> str:
    return "this folder" if folder == Path.cwd() else str(folder)
