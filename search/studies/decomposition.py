"""Where the spread over seeds comes from: each stream of randomness varied alone, and all of them together."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from scipy.special import chdtri

from seedwise.files import write_atomically
from seedwise.search.drawing.table import Cells, Column, Table
from seedwise.search.ranking.results import Results

FILE = "decomposition.json"
ALL = "all"  # the key of replicates in which all streams vary
CONFIDENCE = 0.95
NAMES = {"head": "head initialisation", "order": "data order", "anchors": "choice of anchors", ALL: "all together"}


def write(results: Results, folder: Path) -> None:
    """decomposition.json: where the spread of a configuration comes from, one row per stream."""
    write_atomically(folder / FILE, json.dumps(rows_of(results)[0], indent=1) + "\n")


def show(results: Results, console: Console) -> None:
    """Print the rows, as a table and in words."""
    rows, failed = rows_of(results)
    console.print(as_table(rows))
    console.print(in_words(rows) + (f" Left out: {failed} failed runs." if failed else ""), soft_wrap=True)


def rows_of(results: Results) -> tuple[list[dict], int]:
    """The rows of a search that varied one stream at a time, and how many failed runs they leave out."""
    selection, scores, failed = results.selection, {}, 0
    for configuration in results.state.configurations.values():
        runs = [run for run in configuration.runs.values() if run.finished]
        good = [score for run in runs if (score := selection.score(run.metrics)) is not None and not run.failed]
        scores[configuration.vary or ALL] = good
        failed += len(runs) - len(good)
    return decompose(scores), failed


def decompose(scores: Mapping[str, Sequence[float]]) -> list[dict]:
    """One row per stream from its scores over replicates: `all` first, then by decreasing spread.

    A row is {stream, sd, variance, share, ci_low, ci_high, n}. `share` is the variance over that of `all`, None where
    that is zero or missing; it can exceed 1, since `all` is an estimate too. `ci_low` and `ci_high` are the 95 %
    chi-square interval of the sd, exact for normal scores. A single replicate has no spread: its numbers are None.
    """
    rows = [_row(stream, values) for stream, values in scores.items()]
    rows.sort(key=lambda row: (row["stream"] != ALL, -(row["variance"] or 0.0)))
    whole = rows[0]["variance"] if rows and rows[0]["stream"] == ALL else None
    return [row | {"share": row["variance"] / whole if whole and row["variance"] is not None else None} for row in rows]


def _row(stream: str, values: Sequence[float]) -> dict:
    n, variance, low, high = len(values), None, None, None
    if n > 1:
        # Equal scores have no variance, but their mean may be rounded to another number.
        variance = float(np.var(values, ddof=1)) if np.ptp(values) > 0 else 0.0
        tails = chdtri(n - 1, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
        low, high = np.sqrt((n - 1) * variance / tails).tolist()
    sd = None if variance is None else variance**0.5
    return {"stream": stream, "sd": sd, "variance": variance, "share": None, "ci_low": low, "ci_high": high, "n": n}


def in_words(rows: Sequence[dict]) -> str:
    """Which stream causes most of the spread, which others may cause as much, and how far to trust this."""
    known = [row for row in rows if row["sd"] is not None]
    single = [row for row in known if row["stream"] != ALL]
    if not single:
        return "No stream was varied alone in two replicates or more, so the source of the spread is unknown."
    most = max(single, key=lambda row: row["sd"])
    if most["sd"] == 0:
        return "No stream changes the score when it varies alone."
    share = "" if most["share"] is None else f", {percent(most['share'])} of the variance of all together"
    sentences = [f"Most of the spread comes from {name(most['stream'])}: sd {most['sd']:.4f}{share}."]
    rivals = [name(row["stream"]) for row in single if row is not most and row["ci_high"] >= most["ci_low"]]
    if rivals:
        sentences.append(f"The intervals overlap: it may as well be {' or '.join(rivals)}.")
    fewest = min(known, key=lambda row: row["n"])["n"]
    factor = ((fewest - 1) / chdtri(fewest - 1, (1 + CONFIDENCE) / 2)) ** 0.5
    sentences.append(f"With {fewest} replicates the true sd may be up to {factor:.1f} times the one shown.")
    sentences.append(
        "Shares need not add up to 100 %: streams interact, and each varied alone beside one draw of the others."
    )
    return " ".join(sentences)


def as_table(rows: Sequence[dict]) -> Table:
    cells: list[Cells] = [
        (Column("varied"), lambda row: name(row["stream"])),
        (Column("n", number=True), lambda row: str(row["n"])),
        (Column("sd", number=True), lambda row: "-" if row["sd"] is None else f"{row['sd']:.4f}"),
        (Column("95 % interval", number=True), _interval),
        (Column("share of variance", number=True), lambda row: "-" if row["share"] is None else percent(row["share"])),
    ]
    return Table.of(cells, [rows], title="spread of the score by source of randomness")


def _interval(row: dict) -> str:
    return "-" if row["ci_low"] is None else f"{row['ci_low']:.4f} .. {row['ci_high']:.4f}"


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def name(stream: str) -> str:
    """A person's name for a stream."""
    return NAMES.get(stream, stream)
