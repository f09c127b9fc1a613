"""The files of a landscape: its numbers, its page; and what is said of them."""

import json
from pathlib import Path

from rich.console import Console

from seedwise.files import write_atomically
from seedwise.folder import REPORT
from seedwise.program import called
from seedwise.search.decide.landscape_plan import Plan
from seedwise.search.execution.products import MODELS, Products
from seedwise.search.landscape.numbers import Numbers
from seedwise.search.landscape.page import NUMBERS, page, read_numbers
from seedwise.search.landscape.words import sentences
from seedwise.search.ledger.state import State


def write(plan: Plan, state: State, folder: Path, console: Console) -> list[str]:
    """Write all files into the folder of a landscape, and return their names.

    The numbers come first. What is drawn from them can be drawn again at any time: it must not keep a landscape from
    ending.
    """
    numbers = Numbers(plan, state, Products(folder / MODELS)).all()
    numbers["sentences"] = sentences(numbers)
    write_atomically(folder / NUMBERS, json.dumps(numbers, allow_nan=False, indent=1) + "\n")
    written = [NUMBERS]
    try:
        write_atomically(folder / REPORT, page(numbers))
        written.append(REPORT)
    except Exception as error:  # plotly's own, or that a folder cannot be written: the numbers are there
        again = f"Try again with: {called('report', folder)}"
        console.print(f"not all was drawn ({error!r}). {again}", style="yellow", soft_wrap=True)
    return written


def show(folder: Path, console: Console) -> bool:
    """Say what was found, and where; whether there is a point at all."""
    numbers = read_numbers(folder)
    for sentence in numbers["sentences"]:
        console.print(sentence, soft_wrap=True)
    files = {"report": REPORT, "numbers": NUMBERS, "models": MODELS}
    console.print("    ".join(f"{what}: {folder}/{name}" for what, name in files.items()), soft_wrap=True)
    if origin := numbers["options"].get("origin"):
        console.print(f"in the report of its search too, after: {called('report', origin)}", soft_wrap=True)
    return any(numbers[kind] for kind in ("lines", "planes", "seeds", "around"))
