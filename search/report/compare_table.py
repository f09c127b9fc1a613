"""A comparison of searches in the terminal."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console

from seedwise.search.drawing.table import Cells, Column, Table
from seedwise.search.ledger.state import SEARCH
from seedwise.search.ranking.estimate import summary
from seedwise.search.report.compare import ComparedSearch, Measure, Side, common_measure, pairs
from seedwise.text import number, spread

TEXT, CELL = 80, 15  # columns of a terminal that names and parameters need, and a mean with its spread


@dataclass(frozen=True)
class Row:
    """A line of the table: the configuration that a search has chosen, or the best of one of its baselines."""

    search: str
    baseline: bool
    method: str
    selected_by: str
    config_id: str
    params: str
    n: int
    failed: int
    cells: dict[str, tuple[float, float | None]]  # language -> mean and sd over the replicates of the measure's phase


def show(searches: Sequence[ComparedSearch], console: Console) -> None:
    """The table of what every search has chosen, then the statements about every pair."""
    console.print(as_table(searches, width=console.width))
    compared = pairs(searches)
    for pair in compared:
        by = f", by {pair.measure.label}" if pair.measure else ""
        console.print(f"{pair.one} and {pair.other}{by}:", style="bold", soft_wrap=True)
        for note in pair.notes:
            console.print(f"  note: {note}", style="yellow", soft_wrap=True)
        for statement in pair.statements:
            console.print(f"  {statement.in_words()}", soft_wrap=True)
    made = sum(not statement.because for pair in compared for statement in pair.statements)
    console.print(
        f"{len(compared)} {'pair' if len(compared) == 1 else 'pairs'}, {made} comparisons; intervals are 95 %, "
        "Student's t, and not corrected for their number.",
        soft_wrap=True,
    )


def as_table(searches: Sequence[ComparedSearch], *, width: int) -> Table:
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
        (Column("search", long=True), lambda row: "" if row.baseline else f"{row.search} {row.config_id}"),
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
        [[row for row in rows if row.search == search.name] for search in searches],
        title=f"{'mean ± sd' if wide else 'mean'} of {measure.label}",
        notes=[] if wide else [f"{row.search}: {row.method}, {row.selected_by}" for row in rows if not row.baseline],
    )


def side_by_side(searches: Sequence[ComparedSearch]) -> tuple[Measure, list[Row]]:
    """The rows of the table, and what their cells measure: what all have, else the first one's own metric on dev."""
    measure = common_measure(searches) or Measure(searches[0].results.selection.metric, "dev", SEARCH)
    return measure, [row for search in searches for row in _rows(search, measure)]


def _rows(search: ComparedSearch, measure: Measure) -> list[Row]:
    results, method = search.results, search.results.state.method
    rows = []
    for row in (results.chosen, *results.baselines):
        sides = {
            language: Side.of("", results, row["config_id"], measure.phase, [selection])
            for language, selection in search.metrics(measure).items()
        }
        summaries = {language: summary(list(side.scores.values())) for language, side in sides.items() if side.scores}
        rows.append(
            Row(
                search.name,
                bool(row["baseline"]),
                method if isinstance(method, str) else method["trainable"],
                results.selection.label,
                row["config_id"],
                f"baseline: {row['baseline']}" if row["baseline"] else results.in_short(row["params"]),
                len(set().union(*(side.scores for side in sides.values()))),
                len(set().union(*(side.failed for side in sides.values()))),
                {language: (scores.mean, scores.sd) for language, scores in summaries.items()},
            )
        )
    return rows
