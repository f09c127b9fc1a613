"""The files of a landscape: its numbers, its page; and what is said of them."""

import json
from pathlib import Path

from rich.console import Console

from seedwise.files import write_atomically
from seedwise.folder import LEDGER, REPORT
from seedwise.program import called
from seedwise.search.execution.products import Products
from seedwise.search.landscape.numbers import Numbers
from seedwise.search.landscape.page import page
from seedwise.search.landscape.stored import NUMBERS, read_numbers
from seedwise.search.landscape.words import sentences
from seedwise.search.ledger.state import State, read
from seedwise.search.report.findings import Findings
from seedwise.search.spec.load import recorded
from seedwise.search.spec.parts import standing_of
from seedwise.search.studies.landscape_phases import FOLDER
from seedwise.search.studies.report import write_report


def write_landscape(state: State, folder: Path, console: Console) -> list[str]:
    """Write all files into the folder of a landscape, and return their names.

    The numbers come first. What is drawn from them can be drawn again at any time: it must not keep a landscape from
    ending.
    """
    numbers = Numbers(recorded(state).parts.plan, state, Products(folder / FOLDER)).all()
    numbers["sentences"] = sentences(numbers)
    write_atomically(folder / NUMBERS, json.dumps(numbers, allow_nan=False, indent=1) + "\n")
    written = [NUMBERS]
    try:
        write_atomically(folder / REPORT, page(numbers))
        written.append(REPORT)
        if origin := state.specification["landscape"].get("origin"):
            add_to_search(Path(origin), folder)
    except Exception as error:  # plotly's own, or that a folder cannot be written: the numbers are there
        again = f"Try again with: {called('report', folder)}"
        console.print(f"not all was drawn ({error!r}). {again}", style="yellow", soft_wrap=True)
    return written


def show(state: State, folder: Path, console: Console, *, nothing_new: bool = False) -> bool:
    """Say what was found, and where; whether there is a point at all."""
    if nothing_new:
        console.print(
            f"{folder} is finished; nothing was started. Another one needs a new folder: --out", soft_wrap=True
        )
    numbers = read_numbers(folder)
    for sentence in numbers["sentences"]:
        console.print(sentence, soft_wrap=True)
    files = {"report": REPORT, "numbers": NUMBERS, "models": FOLDER}
    console.print("    ".join(f"{what}: {folder}/{name}" for what, name in files.items()), soft_wrap=True)
    origin = state.search["specification"]["landscape"].get("origin")
    if origin and Path(origin, NUMBERS).exists():
        console.print(f"also in the report of its search: {origin}/{REPORT}", soft_wrap=True)
    return any(numbers[kind] for kind in ("lines", "planes", "seeds", "around"))


def write_again(state: State, folder: Path, console: Console) -> None:
    """The files of a landscape from its ledger, as far as it has come."""
    write_landscape(state, folder, console)
    show(state, folder, console)


def add_to_search(origin: Path, folder: Path) -> None:
    """Put the numbers of a landscape beside the search that its configuration came from, and into its report."""
    state = read(origin / LEDGER)
    if not state.search:  # it is on another machine, or gone
        return
    write_atomically(origin / NUMBERS, (folder / NUMBERS).read_text(encoding="utf-8"))
    found = Findings(state, standing_of(state.search["specification"]))
    write_report(found, origin, ended=state.finished)
