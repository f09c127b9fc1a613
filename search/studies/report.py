"""report.html of a search, with the latest landscape of one of its configurations where there is one."""

import json
from pathlib import Path

from seedwise.errors import RequestError
from seedwise.program import command
from seedwise.search.drawing.chart import escaped
from seedwise.search.landscape.page import NUMBERS, read_numbers, section
from seedwise.search.ranking.results import Results
from seedwise.search.report.html_report import Section, write


def write_report(results: Results, folder: Path, *, ended: str) -> Path:
    """Write the report of a search folder. `ended` says why the search did; empty while it has not."""
    return write(results, folder, ended=ended, more=landscape(folder))


def landscape(folder: Path) -> list[Section]:
    """The section on the latest landscape of a search: of those beside its folder that began with its configuration.

    Versions until 0.8 copied the numbers of a landscape into the search folder itself.
    """
    places = [path.parent for path in folder.resolve().parent.glob(f"*/{NUMBERS}")]
    ours = [place for place in places if place == folder.resolve() or _origin(place) == folder.resolve()]
    if not ours:
        return []
    latest = max(ours, key=lambda place: (place / NUMBERS).stat().st_mtime)
    try:
        content = section(read_numbers(latest))
    except Exception as error:  # a file that somebody changed: the report is of the search, and goes on
        problem = error.problem if isinstance(error, RequestError) else f"{type(error).__name__}: {error}"
        again = command("report", latest.name)
        text = f"{NUMBERS} of {latest.name} cannot be shown ({problem}). Write it anew with: {again}"
        content = f'<p class="note">{escaped(text)}</p>'
    return [("landscape", "Why seeds disagree", content)] if content else []


def _origin(folder: Path) -> Path | None:
    """The search folder whose configuration a landscape began with; None where its file does not say so."""
    try:
        origin = json.loads((folder / NUMBERS).read_bytes())["options"]["origin"]
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return Path(origin).resolve() if isinstance(origin, str) else None
