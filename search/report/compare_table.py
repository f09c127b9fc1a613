"""A comparison of searches in the terminal."""

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from seedwise.search.report.compare import Searched, pairs, side_by_side
from seedwise.text import number

TEXT, CELL = 80, 15  # columns of a terminal that names and parameters need, and a mean with its spread


def show(searches: Sequence[Searched], console: Console) -> None:
    """The table of what every search has chosen, then the statements about every pair."""
    console.print(as_table(searches, width=console.width))
    found = pairs(searches)
    for pair in found:
        by = f", by {pair.measure.label}" if pair.measure else ""
        console.print(f"{pair.one} and {pair.other}{by}:", style="bold", soft_wrap=True)
        for note in pair.notes:
            console.print(f"  note: {note}", style="yellow", soft_wrap=True)
        for statement in pair.statements:
            console.print(f"  {statement.in_words()}", soft_wrap=True)
    compared = sum(not one.because for pair in found for one in pair.statements)
    console.print(
        f"{len(found)} {'pair' if len(found) == 1 else 'pairs'}, {compared} comparisons; intervals are 95 %, Student's "
        "t, and not corrected for their number.",
        soft_wrap=True,
    )


def as_table(searches: Sequence[Searched], *, width: int) -> Table:
    """One row per search, its baselines below it, a column per language that any of them has.

    In a terminal of a `width` that has no room for it, means come without their spread, and methods in the caption.
    """
    measure, rows = side_by_side(searches)
    languages = list(dict.fromkeys(language for row in rows for language in row.cells))
    wide = width >= TEXT + CELL * len(languages)
    title = f"{'mean ± sd' if wide else 'mean'} of {measure.label}"
    table = Table(title=title, title_justify="left", caption_justify="left", box=SIMPLE_HEAD, padding=0, pad_edge=False)
    for name in ("search", *(("method", "selected by") if wide else ()), "parameters"):
        table.add_column(name)
    for name in ("n", *(language or measure.metric for language in languages)):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        if not row.baseline and row is not rows[0]:
            table.add_section()
        of_search = (f"{row.name} {row.config_id}", *((row.method, row.selected_by) if wide else ()))
        table.add_row(
            *([""] * len(of_search) if row.baseline else of_search),
            row.params,
            str(row.n) + (f" ({row.failed} failed)" if row.failed else ""),
            *(_cell(row.cells.get(language), wide=wide) for language in languages),
        )
    if not wide:
        table.caption = "; ".join(f"{row.name}: {row.method}, {row.selected_by}" for row in rows if not row.baseline)
    return table


def _cell(score: tuple[float, float | None] | None, *, wide: bool) -> str:
    if score is None:
        return ""
    return f"{number(score[0])} ± {number(score[1])}" if wide else number(score[0])
