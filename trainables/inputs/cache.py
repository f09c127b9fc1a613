"""Arrays that are slow to compute, cached on disk and opened as memory maps."""

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from seedwise.trainables.inputs.files import checksum

INDEX = "arrays.json"  # the names of an entry's arrays, and the entry's key


def cached(kind: str, key: dict, make: Callable[[], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """The arrays that `make()` returns: computed once per `key` (JSON values), later mapped read-only from disk.

    The cache is `$SEEDWISE_CACHE` (default `~/.cache/seedwise`), with a folder for each `kind` and key. The key must
    name everything that the arrays depend on, including a version of the code that computes them. Entries are never
    deleted, but users may delete them; a damaged entry is computed again. Without write permission the arrays stay in
    memory, which costs only time and memory.
    """
    root = Path(os.environ.get("SEEDWISE_CACHE") or "~/.cache/seedwise").expanduser() / kind
    entry = root / content_hash(json.dumps(key, sort_keys=True))[:32]
    if (stored := _open(entry)) is not None:
        return stored
    arrays = make()
    with contextlib.suppress(OSError):  # disk full, no permission
        _write(entry, key, arrays)
    if (stored := _open(entry)) is not None:
        return stored
    for array in arrays.values():
        array.flags.writeable = False  # as memory maps are
    return arrays


def content_hash(*parts: bytes | str | Path | np.ndarray) -> str:
    """SHA-256 (hexadecimal) of all parts in order; of a path, the content of its file is hashed."""
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
    """The words of a packed array. An empty list and a list of one empty word are packed alike."""
    return array.tobytes().decode().split("\n") if array.size else []


def _open(entry: Path) -> dict[str, np.ndarray] | None:
    """The arrays of an entry; None if it does not exist, or if a file is missing or truncated."""
    try:
        names = json.loads((entry / INDEX).read_text(encoding="utf-8"))["arrays"]
        return {name: np.lib.format.open_memmap(entry / f"{name}.npy", mode="r") for name in names}  # never a pickle
    except (OSError, ValueError, EOFError, LookupError, TypeError):
        return None


def _write(entry: Path, key: dict, arrays: dict[str, np.ndarray]) -> None:
    """Write an entry to a temporary folder and rename it. If another process was faster, its entry stays."""
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
            shutil.rmtree(entry, ignore_errors=True)  # a damaged entry
            os.rename(partial, entry)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
