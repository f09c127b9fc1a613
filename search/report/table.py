"""The leaderboard as a table with notes that explain it, and as files."""

import json
from pathlib import Path

from rich.console import Console

from seedwise.files import write_atomically
from seedwise.folder import LEADERBOARD, LEADERBOARD_CSV
from seedwise.search.drawing.leaderboard_columns import audited, columns
from seedwise.search.drawing.table import Column, Table
from seedwise.search.ranking.leaderboard import best_baselines, collapsed, flat, in_words
from seedwise.search.ranking.results import Results
from seedwise.search.ranking.selection import Selection

WIDE = 120  # characters of a terminal with room for intervals
OTHERS_WIDE, OTHERS = 104, 66  # characters of the columns before the audit, with and without intervals
NO_REPLICATES = (
    "no configuration has two replicates: the noise between seeds is unknown, and so are P(best), ties and "
    "intervals of estimates"
)


def as_table(rows: list[dict], selection: Selection, *, width: float, most: int = 12, left: int = 0) -> Table:
    """The leaderboard for a terminal of `width` columns: the best `most`, and the best of each baseline.

    `left` is the number of configurations that `rows` leaves out.
    """
    ranked, baselines = [row for row in rows if not row["baseline"]], best_baselines(rows)
    shown = [*ranked[:most], *baselines]
    left += max(0, len(rows) - len(shown))
    more = [f"{left} more in {LEADERBOARD_CSV}"] if left else []
    return Table.of(
        columns(rows, selection, wide=width >= WIDE, room=width - (OTHERS_WIDE if width >= WIDE else OTHERS)),
        [ranked[:most], baselines],
        title=title(selection),
        notes=[*notes(rows, shown, selection), *more],
    )


def title(selection: Selection) -> str:
    return f"ranked by the estimate of {selection.label}"


def notes(rows: list[dict], shown: list[dict], selection: Selection) -> list[str]:
    """Explain the marks behind the `shown` configurations, and the dim columns."""
    replicated = all(row["replicated"] for row in rows)  # whether the noise between seeds is known
    by, goal = selection.second or ("", "")
    second = any(row.get("second") is not None for row in rows)
    remarks = {
        "= cannot be told apart from the best": replicated and any(row["tied"] for row in shown[1:]),
        NO_REPLICATES: not replicated,
        "! a single class is predicted in some runs": any(map(collapsed, shown)),
        f"* on the Pareto front with {goal} {by}": by and second,
        f"no run reports {by}": by and not second,
        f"dim: {selection.metric} on dev sets, which do not rank": audited(rows, selection),
    }
    return [remark for remark, applies in remarks.items() if applies]


def show_leaderboard(results: Results, console: Console) -> None:
    """Print the leaderboard, the number of configurations and runs, and the price of choosing without target labels."""
    console.print(as_table(results.leaderboard, results.selection, width=console.width))
    compared = sum(not row["baseline"] for row in results.leaderboard)
    runs = sum(run.finished for run in results.state.runs())
    console.print(f"{compared} configurations, {runs} runs: {results.state.finished or 'not finished'}.")
    if price := in_words(results.underspecification):
        console.print(price, soft_wrap=True)


def write_leaderboard(rows: list[dict], folder: Path) -> None:
    """Write leaderboard.json, and leaderboard.csv with one column per parameter and per score."""
    write_atomically(folder / LEADERBOARD, json.dumps(rows, indent=1, ensure_ascii=False) + "\n")
    columns, lines = flat(rows)
    write_atomically(folder / LEADERBOARD_CSV, Table(list(map(Column, columns)), [lines]).csv())
