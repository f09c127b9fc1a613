"""Many runs: what to run next, where, and what came of it."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seedwise.search.notebook import LoadedSearch


def load_search(folder: "str | Path") -> "LoadedSearch":
    """A search folder as pandas tables, for a notebook: see docs/notebook.md."""
    from seedwise.search import notebook  # here, so that `import search` costs nothing

    return notebook.load_search(folder)
