"""Code that several commands share: to print how a search ended, and to open the search in a folder."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from seedwise.exit_codes import DONE, FAILED
from seedwise.program import called

if TYPE_CHECKING:
    from seedwise.search.ranking.results import Results
    from seedwise.search.studies.launch import SearchOutcome
    from seedwise.search.studies.study import Search


def conclude(outcome: "SearchOutcome", folder: Path, console: Console, *, spec: str = "SPEC") -> int:
    """Print how a search ended and what to do next. Returns the exit code."""
    state = outcome.results.state
    if outcome.nothing_new:
        runs = sum(run.finished for run in state.runs())
        console.print(
            f"{folder} is finished ({runs} runs: {state.finished}); nothing was started. "
            f"A new search needs a new folder: {called('search', spec, '--out', f'{folder}-2')}",
            soft_wrap=True,
        )
    return DONE if outcome.study.show(outcome.results, folder, console) else FAILED


@contextmanager
def opened(folder: Path, action: str = "") -> "Iterator[tuple[Search, Results]]":
    """Yield the study in a folder and its results so far. In the block, paths start where the search was started.

    If an `action` such as "Export from" is given, a study that does not compare configurations is refused.
    """
    from seedwise.search.ledger.file import read_search
    from seedwise.search.spec.load import recorded
    from seedwise.search.studies.study import refusal, study_of

    state = read_search(folder)
    with state.own_folder():
        study = study_of(recorded(state))
        if action and study.cannot_compare:
            raise refusal(folder, study, action)
        yield study, study.specification.parts.results(state)
