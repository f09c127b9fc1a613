"""What ran, what runs, what is left: from the ledger, on any machine that sees the folder."""

from pathlib import Path

from rich.console import Console

from seedwise.errors import RequestError
from seedwise.folder import LEDGER
from seedwise.program import called
from seedwise.search.decide.policy import run_name
from seedwise.search.ledger.state import State, busy, read
from seedwise.search.report.live import Progress
from seedwise.search.spec.load import recorded
from seedwise.text import ago


def show(folder: Path, console: Console) -> None:
    """The status of a search folder. It may be written meanwhile, by another process or another machine."""
    path = folder / LEDGER
    state = read(path)
    if not state.search:
        raise RequestError(str(folder), "there is no search here", "Write the folder that has its ledger.jsonl.")
    parts = recorded(state).parts
    total = parts.total_runs(state)
    console.print(Progress(console, state, parts.standing, total).view())
    done = sum(run.finished for run in state.runs())
    left = parts.policy.in_words() if total is None else f"{max(0, total - done)} runs left"
    times = f"session {state.sessions}, last line {ago(state.last_time)}"
    if state.finished:
        console.print(f"finished: {state.finished} ({times})", soft_wrap=True)
        return
    console.print(f"{phase_of(state)}, {left}; {times}", soft_wrap=True)
    if busy(path):
        console.print("the search is running")
        return
    begun = [run for run in state.runs() if not run.finished]
    if begun:
        names = "; ".join(run_name(run.config_id, run.replicate) for run in begun)
        console.print(f"without a result: {names}", soft_wrap=True)
    console.print(f"interrupted; go on with: {called('resume', folder)}", soft_wrap=True)
    console.print("If another machine writes it, wait: its lock cannot always be seen from here.", style="dim")


def phase_of(state: State) -> str:
    """Where a search is, in a word."""
    if state.search["specification"]["landscape"]:
        return "landscape"
    if state.stopped:
        return "confirmation" if state.frozen else "writing the results"
    return "baselines" if state.policy_stopped else "search"
