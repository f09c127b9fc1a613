"""Records where a result comes from: code, versions, files."""

import hashlib
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import seedwise
from seedwise.trainables.inputs.files import checksum, path_of
from seedwise.trainables.methods import all_inputs
from seedwise.trainables.request import Request, files_of
from seedwise.trainables.tasks.sources import Classification

PACKAGES = ("torch", "transformers", "ray", "optuna", "entmax", "mlflow", "numpy")
PACKAGE = Path(seedwise.__file__).resolve().parent
REVISION = PACKAGE / "revision.txt"  # a submitted job has this file, since it is not a checkout


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that a score may depend on."""
    known = {"python": sys.version.split()[0], "seedwise": seedwise.__version__}
    for package in PACKAGES:
        try:
            known[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            known[package] = "unknown"
    return known


def revision() -> str:
    """The commit of this code, with `-dirty` if files differ from it; empty outside a checkout.

    An installed package may lie below another repository, as a virtual environment does: that commit is not ours.
    """
    if REVISION.is_file():
        return REVISION.read_text(encoding="utf-8").strip()
    if not all((PACKAGE.parent / name).exists() for name in (".git", "run_search.py", "setup.py")):
        return ""
    try:
        described = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=40", "--match", "no-tag"],
            cwd=PACKAGE,
            env={name: value for name, value in os.environ.items() if not name.startswith("GIT_")},  # set by git hooks
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return described.stdout.strip()


def checksums(request: Request) -> dict[str, str]:
    """SHA-256 of every file and folder that a specification names, except hub ids; of a task, of the files in use."""
    sums, paths = {}, {key: path_of(name) for key, name in named(request).items()}
    if request.task and (files := Classification(request.task).paths()):
        sums["task.data"] = _checksum_of_all(files)
    return sums | {key: checksum(path) for key, path in paths.items() if path.exists()}


def named(request: Request) -> dict[str, str]:
    """The files, folders and possible hub ids that a specification names, by key; without the data of the task."""
    names = {"model": request.model} if request.model else {}
    languages = request.task.languages() if request.task else []
    for name, described in all_inputs().items():
        if described.shape != "value":
            names |= files_of(f"inputs.{name}", getattr(request.inputs, name), languages)
    return names


def _checksum_of_all(files: list[Path]) -> str:
    """One SHA-256 of files and of their paths in the folder they share, so that a moved copy has the same checksum."""
    folder = os.path.commonpath([file.parent for file in files])
    lines = [f"{checksum(file)}  {file.relative_to(folder).as_posix()}\n" for file in files]
    return hashlib.sha256("".join(lines).encode()).hexdigest()
