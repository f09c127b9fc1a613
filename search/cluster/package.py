"""Packs a job: this code, the specification, and all files that the specification names by relative paths."""

import os
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from seedwise import yaml12
from seedwise.credentials import has_password
from seedwise.errors import RequestError
from seedwise.folder import SPECIFICATION
from seedwise.search.cluster.code import PACKAGE, files_below, own_code, package_files
from seedwise.search.spec import provenance
from seedwise.search.spec.schema import Specification
from seedwise.trainables.tasks.sources import Classification

LIMIT = 99 << 20  # bytes; Ray's dashboard takes 100 MiB in one request (its DASHBOARD_CLIENT_MAX_SIZE)
DATE = (1980, 1, 1, 0, 0, 0)  # of all files, so that equal content gives an equal package, which is sent once


def write(specification: Specification, path: Path) -> None:
    """Write the package of a job to `path`, a zip file."""
    refuse_passwords(resolved := specification.as_dict())
    texts = {SPECIFICATION: yaml12.dump(resolved), f"{PACKAGE}/{provenance.REVISION.name}": provenance.revision()}
    files = contents(specification)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
        for name, text in texts.items():
            package.writestr(zipfile.ZipInfo(name, DATE), text, zipfile.ZIP_DEFLATED)
        for name, file in sorted(files.items()):
            entry = zipfile.ZipInfo.from_file(file, name)
            entry.date_time, entry.compress_type = DATE, zipfile.ZIP_DEFLATED
            with open(file, "rb") as source, package.open(entry, "w") as target:
                shutil.copyfileobj(source, target, 1 << 20)
            if path.stat().st_size > LIMIT:
                sizes = {name: file.stat().st_size / (1 << 20) for name, file in files.items()}
                largest = max(sizes, key=sizes.get)
                total = f"{sum(sizes.values()):.0f} MiB, {largest} alone {sizes[largest]:.0f}"
                problem = f"the files of this search have {total}; the limit of a job is {LIMIT >> 20}, compressed"
                fix = "Put large files on a disk of the head, and write their absolute paths."
                raise RequestError("submit", problem, fix)


def refuse_passwords(resolved: dict) -> None:
    """Refuse passwords: everybody with access to the cluster's dashboard can read a package."""
    for key, text in _strings(resolved):
        if has_password(text):
            fix = (
                "Leave it out, and start Ray on the head with MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD "
                "set (for a database, PGPASSWORD)."
            )
            raise RequestError(key, "it has a password, which others on the cluster could read", fix)


def contents(specification: Specification) -> dict[str, Path]:
    """The files of the package by name: paths relative to the current folder, as in a specification."""
    files: dict[str, Path] = {}
    for key, name in provenance.named(specification).items():
        if relative(name) and Path(name).exists():
            files |= files_below(Path(name), _inside(name, key))
    if (task := specification.task) and relative(task.data):
        files |= {_inside(str(file), "task.data"): file for file in Classification(task).paths()}
    if not isinstance(specification.method, str):
        specification.parts.method  # noqa: B018 (imports the method, so that `own_code` finds its modules)
    for path in own_code():
        files |= files_below(path, path.name)
    return files | package_files()


def relative(name: str) -> bool:
    """Whether a name is a path below the current folder, or a hub id."""
    return not name.startswith(("/", "~", "world:"))


def _inside(name: str, key: str) -> str:
    inside = os.path.normpath(name)
    if inside.startswith(".."):
        problem = f"{name} is outside of the current folder, and only files in it are sent"
        fix = "Submit from a folder that contains it, or write an absolute path on the head."
        raise RequestError(key, problem, fix)
    return inside


def _strings(content: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield every string in plain data, with its key."""
    if isinstance(content, str):
        yield key, content
    elif isinstance(content, dict | list):
        for name, part in content.items() if isinstance(content, dict) else enumerate(content):
            yield from _strings(part, f"{key}.{name}".removeprefix("."))
