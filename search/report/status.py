"""The status of a search, read from its ledger on any machine that sees the folder."""

from pathlib import Path

from rich.console import Console

from seedwise.folder import LEDGER
from seedwise.program import called
from seedwise.search.decide.policy import run_name
from seedwise.search.ledger.file import busy
from seedwise.search.ledger.state import State
from seedwise.search.report.live import Named, Progress
from seedwise.search.spec.parts import Parts
from seedwise.text import ago


def show(
    folder: Path, state: State, parts: Parts, console: Console, *, total: int | None, phase: str, named: Named
) -> None:
    """Print the status of a search folder, which another process or machine may be writing.

    `total` (the planned runs), `phase` (in a word) and `named` (a readable name for the configuration of a run) differ
    between kinds of studies.
    """
    console.print(Progress(console, state, parts.estimator, total, named).view())
    done = sum(run.finished for run in state.runs())
    left = parts.policy.in_words() if total is None else f"{max(0, total - done)} runs left"
    times = f"session {state.sessions}, last line {ago(state.last_time)}"
    if state.finished:
        console.print(f"finished: {state.finished} ({times})", soft_wrap=True)
        return
    console.print(f"{phase}, {left}; {times}", soft_wrap=True)
    if busy(folder / LEDGER):
        console.print("the search is running")
        return
    if begun := [run_name(run.config_id, run.replicate) for run in state.runs() if not run.finished]:
        console.print(f"without a result: {'; '.join(begun)}", soft_wrap=True)
    console.print(f"interrupted; continue with: {called('resume', folder)}", soft_wrap=True)
    console.print("If another machine works on it, wait: its lock may be invisible from here.", style="dim")
