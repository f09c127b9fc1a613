"""Seedwise: a hyperparameter search for zero-shot cross-lingual transfer that treats the seed as noise.

The names below are imported on first use, so that `import seedwise` is instant.
"""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seedwise.search.export.frames import load_search

__all__ = ["__version__", "load_search"]
__version__ = "0.8.0"

_FOLDER = Path(__file__).resolve().parent
if not (_FOLDER / "search").is_dir():  # a checkout without its links, as on Windows, or an unpacked sdist
    __path__.append(str(_FOLDER.parent))

_NAMES = {"load_search": "seedwise.search.export.frames"}


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'seedwise' has no attribute {name!r}")
    return getattr(import_module(_NAMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_NAMES])
