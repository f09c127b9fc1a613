"""Arrays that are slow to make, kept on disk by what they were made from and opened as memory maps."""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from seedwise.trainables.inputs.paths import checksum

INDEX = "arrays.json"  # the names of the arrays of an entry, and the key it was made for


def cached(kind: str, key: dict, make: Callable[[], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """The arrays that `make()` returns: made once per `key` (JSON values), later mapped read-only from disk.

    They are kept in `$SEEDWISE_CACHE` (default `~/.cache/seedwise`), in a folder for each `kind` and key. The key must
    name all that the arrays depend on, the version of the code that makes them included: nothing else is looked at.
    Entries are never deleted; anybody may delete them. A damaged one is made again. Where the folder cannot be written
    the arrays stay in memory, which costs time and memory and nothing else.
    """
    root = Path(os.environ.get("SEEDWISE_CACHE") or "~/.cache/seedwise").expanduser() / kind
    entry = root / content_hash(json.dumps(key, sort_keys=True))[:32]
    if (found := _open(entry)) is not None:
        return found
    arrays = make()
    try:
        _write(entry, key, arrays)
    except OSError:  # no place, no permission
        found = None
    else:
        found = _open(entry)
    if found is None:
        for array in arrays.values():
            array.flags.writeable = False  # as those from disk are
    return arrays if found is None else found


def content_hash(*parts: bytes | str | Path | np.ndarray) -> str:
    """SHA-256 (hexadecimal) of all parts in order; a path stands for the content of its file."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, Path):
            digest.update(b"path" + checksum(part).encode())
        elif isinstance(part, np.ndarray):
            digest.update(f"array {part.dtype.str} {part.shape} ".encode())
            digest.update(np.ascontiguousarray(part).data)
        else:
            data = part.encode() if isinstance(part, str) else part
            digest.update(f"{type(part).__name__} {len(data)} ".encode() + data)
    return digest.hexdigest()


def pack(words: list[str]) -> np.ndarray:
    """Words without line feeds as one array, for `cached`."""
    return np.frombuffer("\n".join(words).encode(), dtype=np.uint8).copy()


def unpack(array: np.ndarray) -> list[str]:
    """The words of a packed array. No words and one empty word are the same to it."""
    return array.tobytes().decode().split("\n") if array.size else []


def _open(entry: Path) -> dict[str, np.ndarray] | None:
    """The arrays of an entry; None where there is none, or one with a file missing or cut."""
    try:
        names = json.loads((entry / INDEX).read_text(encoding="utf-8"))["arrays"]
        return {name: np.lib.format.open_memmap(entry / f"{name}.npy", mode="r") for name in names}  # never a pickle
    except (OSError, ValueError, EOFError, LookupError, TypeError):
        return None


def _write(entry: Path, key: dict, arrays: dict[str, np.ndarray]) -> None:
    """Write an entry beside its place and rename it there. Where another process was faster, its entry stays."""
    entry.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{entry.name}.", dir=entry.parent))
    try:
        for name, array in arrays.items():
            with open(partial / f"{name}.npy", "wb") as file:
                np.save(file, array, allow_pickle=False)
                file.flush()
                os.fsync(file.fileno())
        (partial / INDEX).write_text(json.dumps({"arrays": list(arrays), "key": key}), encoding="utf-8")
        if _open(entry) is None:
            shutil.rmtree(entry, ignore_errors=True)  # a damaged one
            os.rename(partial, entry)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
