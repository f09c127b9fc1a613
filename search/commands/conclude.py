"""What is said when a search ends, and the leaderboard that several commands show."""

from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from seedwise.errors import RequestError
from seedwise.exit_codes import DONE, FAILED
from seedwise.folder import BEST, LEDGER, REPORT
from seedwise.program import called

if TYPE_CHECKING:
    from seedwise.search.ledger.state import State


def conclude(finished_before: str, state: "State", folder: Path, console: Console, *, spec: str = "SPEC") -> int:
    """Say how it ended and what to do next."""
    from seedwise.search.studies.decomposition import report as decompose
    from seedwise.search.studies.landscape_files import show as show_landscape

    if state.search["specification"]["landscape"]:
        return DONE if show_landscape(state, folder, console, nothing_new=bool(finished_before)) else FAILED
    if state.search["specification"]["decompose"]:
        decompose(state, folder, console)
        return DONE if any(not run.failed for run in state.runs()) else FAILED
    if finished_before:
        runs = sum(run.finished for run in state.runs())
        console.print(
            f"{folder} is finished ({runs} runs: {finished_before}); nothing was started. "
            f"A new search needs a new folder: {called('search', spec, '--out', f'{folder}-2')}",
            soft_wrap=True,
        )
    show_leaderboard(state, console)
    best = {"best": BEST} if state.succeeded else {}
    files = {"leaderboard": "leaderboard.csv", **best, "report": REPORT}
    console.print("    ".join(f"{what}: {folder}/{name}" for what, name in files.items()), soft_wrap=True)
    if state.search["specification"]["tracking"]["uri"] != "off":
        console.print(f"compare in MLflow: {called('ui', folder)}", soft_wrap=True)
    if not state.succeeded:
        return FAILED
    console.print(f"rerun the best: {called('run', folder / 'best.yaml')}", soft_wrap=True)
    return DONE


def show_leaderboard(state: "State", console: Console) -> None:
    from seedwise.search.ranking.leaderboard import in_words, leaderboard, underspecification
    from seedwise.search.report.table import as_table
    from seedwise.search.spec.parts import standing_of

    standing = standing_of(state.search["specification"])
    rows = leaderboard(state, standing)
    console.print(as_table(rows, standing.selection, width=console.width))
    compared, runs = sum(not row["baseline"] for row in rows), sum(run.finished for run in state.runs())
    console.print(f"{compared} configurations, {runs} runs: {state.finished or 'not finished'}.")
    if price := in_words(underspecification(state, standing)):
        console.print(price, soft_wrap=True)


def whole_search(folder: Path, action: str) -> "State":
    """The state of a search that compares configurations; a decomposition is none."""
    from seedwise.search.ledger.state import read

    state = read(folder / LEDGER)
    if not state.search:
        raise RequestError(f"{folder}: there is no search here.")
    if state.search["specification"]["decompose"]:
        raise RequestError(f"{folder}: one configuration, streams apart. {action} the search it came from.")
    if state.search["specification"]["landscape"]:
        raise RequestError(f"{folder}: the landscape of one configuration. {action} the search it came from.")
    return state
