"""Files and folders that a specification names."""

import hashlib
from pathlib import Path

from seedwise.errors import MissingFile
from seedwise.paths import resolved

FILES = Path(__file__).resolve().parent.parent / "world" / "files"  # of the embedded world


def path_of(name: str) -> Path:
    """The path that a specification names: relative to the folder of its search, or `world:NAME`."""
    return FILES / name.removeprefix("world:") if name.startswith("world:") else resolved(name)


def locate(name: str, key: str, *, folder: bool = False) -> Path:
    """`path_of` a file or folder that must exist."""
    path = path_of(name)
    if not (path.is_dir() if folder else path.is_file()):
        kind = "folder" if folder else "file"
        raise MissingFile(key, f"{name}: there is no such {kind}", "Write the path of one that exists.", name)
    return path


def checksum(path: Path) -> str:
    """SHA-256 of a file, or of all files of a folder with their names."""
    digest = hashlib.sha256()
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file():
            if path.is_dir():
                digest.update(file.relative_to(path).as_posix().encode())
            with open(file, "rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()
