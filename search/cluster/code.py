"""Finds the code that a cluster needs: this package, and all imported modules that are not installed."""

import os
import shutil
import sys
import sysconfig
from importlib import import_module
from pathlib import Path

PACKAGE = "seedwise"
PARTS = ("search", "spaces", "trainables")  # subpackages, to which a checkout has links
INSTALLED = {"site-packages", "dist-packages"}  # folders of installed packages, also of other Pythons on the path


def own_code() -> list[Path]:
    """The packages and files of the user's own method or policy and of their imports, without this package.

    Call it after the method and the policy have been imported.
    """
    standard = {Path(sysconfig.get_path(kind)) for kind in ("stdlib", "platstdlib")}
    own = set()
    for name in {module.partition(".")[0] for module in list(sys.modules)}.difference(["__main__", PACKAGE]):
        module = sys.modules.get(name)
        paths = list(getattr(module, "__path__", [])) or [getattr(module, "__file__", None) or ""]
        for path in map(Path, filter(None, paths)):
            installed = INSTALLED.intersection(path.parts) or standard.intersection(path.parents)
            if not installed and (path.is_dir() or path.suffix == ".py"):
                own.add(path)
    return sorted(own)


def package_files() -> dict[str, Path]:
    """All files of this package by name, such as `seedwise/search/ledger/state.py`."""
    files = {}
    for module in (PACKAGE, *(f"{PACKAGE}.{part}" for part in PARTS)):
        folder = Path(import_module(module).__path__[0])
        files |= files_below(folder, module.replace(".", "/"))
    for part in PARTS:
        files.pop(f"{PACKAGE}/{part}", None)  # a link, which is a text file on a system without links
    return files


def assemble(folder: Path) -> Path:
    """Copy this package into `folder` in the layout that Ray needs: one folder, named after it, without links."""
    for name, file in package_files().items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)
    return folder / PACKAGE


def files_below(path: Path, name: str) -> dict[str, Path]:
    """A file, or all files of a folder, by their paths below `name`; without compiled files."""
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return {
        os.path.normpath(Path(name) / file.relative_to(path)): file for file in files if "__pycache__" not in file.parts
    }
