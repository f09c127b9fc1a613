"""The report in the terminal: the answer, the leaderboard, spread, parameter importance, cost and failures."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from seedwise.folder import BEST
from seedwise.program import called
from seedwise.search.decide.policy import run_name
from seedwise.search.ranking.results import Results
from seedwise.search.report import components, costs, importance
from seedwise.search.report.answer import answer
from seedwise.search.report.failures import count_runs, failures, in_common
from seedwise.search.report.table import as_table

LISTED_FAILURES = 5


def show(results: Results, folder: Path, console: Console, allowed: Sequence[str] = ()) -> None:
    """Print the report. Sentences are not wrapped: a terminal wraps them, and a pipe gets whole lines.

    `allowed` has a line per baseline: the runs, learning rates and lengths that it could use.
    """
    lines = answer(results, called("run", folder / BEST))
    if results.ranked:
        lines += ["", as_table(results.rows, results.selection, width=console.width)]
        for spread in components.components(results)[:1]:
            of = "" if spread.name == results.selection.label else f" of {spread.name}"
            lines.append(f"spread{of}: {components.in_words(spread)}")
        known = importance.importances(results)
        shares = importance.in_words(known) if known else "cannot be estimated from so few configurations."
        failed = failures(results)
        lines += ["allowed:", *(f"  {line}" for line in allowed)] if allowed else []
        lines += [
            f"importance (share of the variance explained alone): {shares}",
            f"cost: {costs.in_words(costs.cost(results.state))}",
            f"failed, pruned or with a single class: {count_runs(len(failed))}. {in_common(results)}",
        ]
        for row in failed[:LISTED_FAILURES]:
            lines.append(f"  {run_name(row['config_id'], row['replicate'])}: {row['kind']} {row['error']}")
        if len(failed) > LISTED_FAILURES:
            lines.append(f"  {len(failed) - LISTED_FAILURES} more in the page")
    for line in lines:
        console.print(line, soft_wrap=isinstance(line, str))
