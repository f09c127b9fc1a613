"""A comparison of searches in the terminal."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rich.console import Console

from seedwise.search.drawing.table import Cells, Column, Table
from seedwise.search.ledger.state import SEARCH
from seedwise.search.ranking.summary import summary
from seedwise.search.report.compare import ComparedSearch, Measure, Side, common_measure, pairs
from seedwise.text import number, spread

TEXT, CELL = 80, 15  # characters for names and parameters, and for a mean with its spread


class Line(NamedTuple):
    """A line of the table: a row of a search's leaderboard, with its scores by language."""

    search: ComparedSearch
    row: dict
    sides: dict[str, Side]


def show(searches: Sequence[ComparedSearch], console: Console) -> None:
    """Print the table of the chosen configurations, then the statements on every pair."""
    console.print(as_table(searches, width=console.width))
    compared = pairs(searches)
    for pair in compared:
        by = f", by {pair.measure.label}" if pair.measure else ""
        console.print(f"{pair.title}{by}:", style="bold", soft_wrap=True)
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


def as_table(searches: Sequence[ComparedSearch], *, width: float) -> Table:
    """The chosen configuration of every search, then its best baselines, with a column per language.

    Cells have a measure that all searches report or, if there is none, the metric of the first search on dev. If
    `width` is too small, means have no spread, and the methods are listed in the notes.
    """
    measure = common_measure(searches) or Measure(searches[0].results.selection.metric, "dev", SEARCH)
    sections = [_lines(search, measure) for search in searches]
    languages = dict.fromkeys(language for lines in sections for line in lines for language in line.sides)
    wide = width >= TEXT + CELL * len(languages)

    def of_search(text: Callable[[ComparedSearch], str]) -> Callable[[Line], str]:
        return lambda line: "" if line.row["baseline"] else text(line.search)

    def parameters(line: Line) -> str:
        baseline = line.row["baseline"]
        return f"baseline: {baseline}" if baseline else line.search.results.in_short(line.row["params"])

    def runs(line: Line) -> str:
        numbers, failed = (
            len({number for side in line.sides.values() for number in getattr(side, name)})
            for name in ("scores", "failed")
        )
        return str(numbers) + (f" ({failed} failed)" if failed else "")

    def cell(line: Line, language: str) -> str:
        if language not in line.sides:
            return ""
        scores = summary(list(line.sides[language].scores.values()))
        return spread(scores.mean, scores.sd) if wide else number(scores.mean)

    def score(language: str) -> Cells:
        return Column(language or measure.metric, number=True), lambda line: cell(line, language)

    name = Column("search", long=True), of_search(lambda search: f"{search.name} {search.chosen}")
    about = (
        (Column("method", long=True), of_search(lambda search: search.method)),
        (Column("selected by", long=True), of_search(lambda search: search.results.selection.label)),
    )
    cells = (Column("parameters", long=True), parameters), (Column("n", number=True), runs), *map(score, languages)
    return Table.of(
        [name, *(about if wide else ()), *cells],
        sections,
        title=f"{'mean ± sd' if wide else 'mean'} of {measure.label}",
        notes=[] if wide else [f"{each.name}: {each.method}, {each.results.selection.label}" for each in searches],
    )


def _lines(search: ComparedSearch, measure: Measure) -> list[Line]:
    lines = []
    for row in (search.results.chosen, *search.results.baselines):
        sides = {
            language: Side.of("", search.results, row["config_id"], measure.phase, [selection])
            for language, selection in search.metrics(measure).items()
        }
        lines.append(Line(search, row, {language: side for language, side in sides.items() if side.scores}))
    return lines
