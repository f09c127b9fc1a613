"""The code that nodes of a cluster lack: this package, and whatever else is imported here and not installed."""

import os
import shutil
import sys
import sysconfig
from importlib import import_module
from pathlib import Path

PACKAGE = "seedwise"
PARTS = ("search", "spaces", "trainables")  # of the package; in a checkout they lie beside it, behind links
INSTALLED = {"site-packages", "dist-packages"}  # folders of installed packages, those of other Pythons on the path too


def own_code() -> list[Path]:
    """Packages and files of a method or policy of one's own, and of what these import.

    To be called after they are imported. This package is not among them: see `package_files`.
    """
    standard = {Path(sysconfig.get_path(kind)) for kind in ("stdlib", "platstdlib")}
    found = set()
    for name in {known.partition(".")[0] for known in list(sys.modules)}.difference(["__main__", PACKAGE]):
        module = sys.modules.get(name)
        paths = list(getattr(module, "__path__", [])) or [getattr(module, "__file__", None) or ""]
        for path in map(Path, filter(None, paths)):
            installed = INSTALLED.intersection(path.parts) or standard.intersection(path.parents)
            if not installed and (path.is_dir() or path.suffix == ".py"):
                found.add(path)
    return sorted(found)


def package_files() -> dict[str, Path]:
    """Every file of this package by its name in it, such as `seedwise/search/ledger/state.py`."""
    found = {}
    for module in (PACKAGE, *(f"{PACKAGE}.{part}" for part in PARTS)):
        folder = Path(import_module(module).__path__[0])
        found |= files_below(folder, module.replace(".", "/"))
    for part in PARTS:
        found.pop(f"{PACKAGE}/{part}", None)  # a link that a system without links has as a text file
    return found


def assemble(folder: Path) -> Path:
    """Copy this package into `folder`, as Ray takes it: one folder by the name of the package, without links."""
    for name, file in package_files().items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)
    return folder / PACKAGE


def files_below(path: Path, name: str) -> dict[str, Path]:
    """A file, or all files of a folder, by their names below `name`; without what Python has compiled."""
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    files = [file for file in files if "__pycache__" not in file.parts]
    return {os.path.normpath(Path(name) / file.relative_to(path)): file for file in files}
