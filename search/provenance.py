"""Where a result comes from: code, versions, files, command."""

import shlex
import subprocess
import sys
from importlib import metadata
from pathlib import Path

PACKAGES = ("seedwise", "torch", "transformers", "ray", "optuna", "entmax", "mlflow", "numpy")


def versions() -> dict[str, str]:
    """Python's and the packages' versions that a score may depend on."""
    found = {"python": sys.version.split()[0]}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "unknown"
    return found


def revision() -> str:
    """The commit of this code, with `-dirty` where files differ from it; empty outside a checkout."""
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=40", "--match", "no-tag"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return found.stdout.strip()


def command() -> str:
    """The command line of this process, to be typed again."""
    return shlex.join(["python", "run_search.py", *sys.argv[1:]])


def checksums(specification: dict) -> dict[str, str]:
    """SHA-256 of every file and folder that a specification names; hub ids have none."""
    from trainables.inputs.paths import checksum, locate

    names = {}
    if specification["model"]:
        names["model"] = specification["model"]
    if specification["task"]:
        names["task.data"] = specification["task"]["data"]
    for kind in ("vectors", "lexicons"):
        names |= {f"inputs.{kind}.{language}": name for language, name in specification["inputs"][kind].items()}
    found = {}
    for key, name in names.items():
        if name.startswith("world:") or Path(name).expanduser().exists():
            found[key] = checksum(locate(name, key, folder=not key.startswith("inputs.")))
    return found
