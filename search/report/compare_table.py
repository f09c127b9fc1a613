"""A comparison of searches in the terminal."""

from collections.abc import Sequence

from rich.console import Console

from seedwise.search.drawing.table import Cells, Column, Table
from seedwise.search.report.compare import Row, Searched, pairs, side_by_side
from seedwise.text import number, spread

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

    def cell(row: Row, language: str) -> str:
        mean, sd = row.cells.get(language, (None, None))
        return spread(mean, sd) if wide or mean is None else number(mean)

    cells: list[Cells] = [
        (Column("search", long=True), lambda row: "" if row.baseline else f"{row.name} {row.config_id}"),
        (Column("method", long=True), lambda row: "" if row.baseline else row.method),
        (Column("selected by", long=True), lambda row: "" if row.baseline else row.selected_by),
        (Column("parameters", long=True), lambda row: row.params),
        (Column("n", number=True), lambda row: str(row.n) + (f" ({row.failed} failed)" if row.failed else "")),
        *(
            (Column(language or measure.metric, number=True), lambda row, language=language: cell(row, language))
            for language in languages
        ),
    ]
    return Table.of(
        cells if wide else [cells[0], *cells[3:]],
        [[row for row in rows if row.name == name] for name in dict.fromkeys(row.name for row in rows)],
        title=f"{'mean ± sd' if wide else 'mean'} of {measure.label}",
        notes=[] if wide else [f"{row.name}: {row.method}, {row.selected_by}" for row in rows if not row.baseline],
    )
