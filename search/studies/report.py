"""report.html of a search, with the latest landscape of its configuration if there is one."""

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
    """The section on the latest landscape beside a search folder that began with the configuration of the search.

    Versions until 0.8 copied the numbers of a landscape into the search folder itself.
    """
    folder = folder.resolve()
    landscapes = [path.parent for path in folder.parent.glob(f"*/{NUMBERS}")]
    ours = [path for path in landscapes if path == folder or _origin(path) == folder]
    if not ours:
        return []
    latest = max(ours, key=lambda path: (path / NUMBERS).stat().st_mtime)
    try:
        content = section(read_numbers(latest))
    except Exception as error:  # somebody changed the file: the report of the search is written all the same
        problem = error.problem if isinstance(error, RequestError) else f"{type(error).__name__}: {error}"
        again = command("report", latest.name)
        text = f"{NUMBERS} of {latest.name} cannot be shown ({problem}). Write it anew with: {again}"
        content = f'<p class="note">{escaped(text)}</p>'
    return [("landscape", "Why seeds disagree", content)] if content else []


def _origin(folder: Path) -> Path | None:
    """The search folder whose configuration a landscape began with; None where its file has none."""
    try:
        origin = json.loads((folder / NUMBERS).read_bytes())["options"]["origin"]
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return Path(origin).resolve() if isinstance(origin, str) else None
