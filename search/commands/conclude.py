"""What commands print when a search ends, and how they read the results in a search folder."""

from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from seedwise.exit_codes import DONE, FAILED
from seedwise.program import called

if TYPE_CHECKING:
    from seedwise.search.ranking.results import Results
    from seedwise.search.studies.launch import Outcome


def conclude(outcome: "Outcome", folder: Path, console: Console, *, spec: str = "SPEC") -> int:
    """Print how a search ended and what to do next; the exit code."""
    state = outcome.results.state
    if outcome.nothing_new:
        runs = sum(run.finished for run in state.runs())
        console.print(
            f"{folder} is finished ({runs} runs: {state.finished}); nothing was started. "
            f"A new search needs a new folder: {called('search', spec, '--out', f'{folder}-2')}",
            soft_wrap=True,
        )
    return DONE if outcome.study.show(outcome.results, folder, console) else FAILED


def results_in(folder: Path, action: str) -> "Results":
    """The results of a search that compares configurations. `action` names the command, for the error otherwise."""
    from seedwise.search.ledger.state import read_search
    from seedwise.search.spec.load import recorded
    from seedwise.search.spec.parts import results_of
    from seedwise.search.studies.study import refusal, study_of

    state = read_search(folder)
    study = study_of(recorded(state))
    if study.cannot_compare:
        raise refusal(folder, study, action)
    with state.own_folder():
        return results_of(state)
