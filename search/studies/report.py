"""Write report.html of a search, with the latest landscape of its configuration if there is any."""

import json
from collections.abc import Sequence
from pathlib import Path

from seedwise.errors import RequestError
from seedwise.program import command
from seedwise.search.drawing.chart import escaped
from seedwise.search.landscape.page import NUMBERS, read_numbers, section
from seedwise.search.ranking.results import Results
from seedwise.search.report.html_report import Section, write


def write_report(results: Results, folder: Path, *, ended: str, allowed: Sequence[str] = ()) -> Path:
    """Write the report of a search folder. `ended` says why the search ended; empty while it runs.

    `allowed` says in lines what each baseline was allowed, and what the method.
    """
    lines = "\n".join(f"<li>{escaped(line)}</li>" for line in allowed)
    baselines = [("baselines", "What each baseline was allowed", f"<ul>\n{lines}\n</ul>")] if lines else []
    return write(results, folder, ended=ended, more=[*baselines, *landscape(folder)])


def landscape(folder: Path) -> list[Section]:
    """The report's section on the latest landscape of a configuration of this search; empty if there is none.

    Folders beside the search are looked at. Versions up to 0.8 copied a landscape's numbers into the search folder.
    """
    folder = folder.resolve()
    landscapes = [path.parent for path in folder.parent.glob(f"*/{NUMBERS}")]
    of_search = [path for path in landscapes if path == folder or _origin(path) == folder]
    if not of_search:
        return []
    latest = max(of_search, key=lambda path: (path / NUMBERS).stat().st_mtime)
    try:
        content = section(read_numbers(latest))
    except Exception as error:  # the file was edited: the search still gets its report
        problem = error.problem if isinstance(error, RequestError) else f"{type(error).__name__}: {error}"
        again = command("report", latest.name)
        text = f"{NUMBERS} of {latest.name} cannot be shown ({problem}). Write it anew with: {again}"
        content = f'<p class="note">{escaped(text)}</p>'
    return [("landscape", "Why seeds disagree", content)] if content else []


def _origin(folder: Path) -> Path | None:
    """The search folder that the configuration of a landscape came from; None if the landscape's file has none."""
    try:
        origin = json.loads((folder / NUMBERS).read_bytes())["options"]["origin"]
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return Path(origin).resolve() if isinstance(origin, str) else None
