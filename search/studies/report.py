"""report.html of a search, with the landscape of one of its configurations where there is one."""

from pathlib import Path

from seedwise.search.drawing.chart import escaped
from seedwise.search.landscape.page import section
from seedwise.search.landscape.stored import NUMBERS, read_numbers
from seedwise.search.report.findings import Findings
from seedwise.search.report.html_report import Section, write


def write_report(found: Findings, folder: Path, *, ended: str) -> Path:
    """Write the report of a search folder. `ended` says why the search did; empty while it has not."""
    return write(found, folder, ended=ended, more=landscape(folder))


def landscape(folder: Path) -> list[Section]:
    """The section on the landscape whose numbers lie in a search folder; none without them."""
    if not (folder / NUMBERS).exists():
        return []
    try:
        content = section(read_numbers(folder))
    except Exception as error:  # a file that somebody changed: the report is of the search, and goes on
        text = f"{NUMBERS} of this folder cannot be shown ({type(error).__name__}: {error})."
        content = f'<p class="note">{escaped(text)}</p>'
    return [("landscape", "Why seeds disagree", content)] if content else []
