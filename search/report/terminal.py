"""The report in the terminal: the answer, the leaderboard, where the spread comes from, what matters, what it cost."""

from pathlib import Path

from rich.console import Console

from seedwise.folder import BEST
from seedwise.program import called
from seedwise.search.decide.policy import run_name
from seedwise.search.ranking.results import Results
from seedwise.search.report import components, costs, importance
from seedwise.search.report.answer import answer
from seedwise.search.report.failures import counted, failures, in_common
from seedwise.search.report.table import as_table

SHOWN = 5  # failed runs


def show(found: Results, folder: Path, console: Console) -> None:
    """Print it. Sentences are not wrapped here, so that a terminal can, and a pipe need not."""
    for line in answer(found, called("run", folder / BEST)):
        console.print(line, soft_wrap=True)
    if not found.ranked:
        return
    console.print()
    console.print(as_table(found.rows, found.selection, width=console.width))
    known = importance.importances(found)
    spread = components.components(found)
    failed = failures(found)
    for one in spread[:1]:
        of = "" if one.name == found.selection.label else f" of {one.name}"
        console.print(f"spread{of}: {components.in_words(one)}", soft_wrap=True)
    told = importance.in_words(known) if known else "cannot be told from so few configurations."
    console.print(f"importance (share of the variance explained alone): {told}", soft_wrap=True)
    console.print(f"cost: {costs.in_words(costs.cost(found.state))}", soft_wrap=True)
    console.print(f"failed, pruned or with a single class: {counted(len(failed))}. {in_common(found)}", soft_wrap=True)
    for row in failed[:SHOWN]:
        name = run_name(row["config_id"], row["replicate"])
        console.print(f"  {name}: {row['kind']} {row['error']}", soft_wrap=True)
    if len(failed) > SHOWN:
        console.print(f"  {len(failed) - SHOWN} more in the page", soft_wrap=True)
