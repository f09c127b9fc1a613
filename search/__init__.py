"""Many runs: what to run next, where, and what came of it."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seedwise.search.export.frames import LoadedSearch


def load_search(folder: "str | Path") -> "LoadedSearch":
    """A search folder as pandas tables, for a notebook: see docs/notebook.md."""
    from seedwise.search.export import frames  # here, so that `import search` costs nothing

    return frames.load_search(folder)
