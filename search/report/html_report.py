"""The report: the answer, the leaderboard, charts and all pictures of a search as one page that needs no network."""

import json
from collections.abc import Iterator, Sequence
from operator import itemgetter
from pathlib import Path

from seedwise.files import write_atomically
from seedwise.folder import BEST, REPORT
from seedwise.program import command
from seedwise.search.decide.policy import replicate_name
from seedwise.search.drawing.chart import Chart, escaped
from seedwise.search.drawing.html import frame
from seedwise.search.drawing.leaderboard_columns import columns
from seedwise.search.drawing.svg import read, svg
from seedwise.search.drawing.table import Cells, Column, Table
from seedwise.search.ledger.state import CONFIRM, DONE
from seedwise.search.ranking.results import Results
from seedwise.search.report import charts, components, costs, importance
from seedwise.search.report.answer import answer
from seedwise.search.report.failures import MOST, counted, failures, in_common
from seedwise.search.report.languages import languages, of_fewer
from seedwise.search.report.table import notes, title
from seedwise.text import number

Section = tuple[str, str, str]  # key, title, content
FAILURES: list[Cells] = [
    (Column("configuration"), itemgetter("config_id")),
    (Column("replicate", number=True), lambda row: str(row["replicate"])),
    (Column("phase"), itemgetter("phase")),
    (Column("kind"), itemgetter("kind")),
    (Column("seconds", number=True), lambda row: f"{row['seconds']:.1f}"),
    (Column("parameters", long=True), itemgetter("params")),
    (Column("error", long=True), itemgetter("error")),
]


def write(found: Results, folder: Path, *, ended: str, more: Sequence[Section] = ()) -> Path:
    """Write `report.html` of a search folder. `ended` says why the search did; without it the page is one so far.

    `more` are sections after the report's own.
    """
    path = folder / REPORT
    write_atomically(path, page(found, folder, ended=ended, more=more))
    return path


def page(found: Results, folder: Path, *, ended: str, more: Sequence[Section] = ()) -> str:
    """The page as text."""
    runs, compared = sum(run.finished for run in found.state.runs()), sum(not row["baseline"] for row in found.rows)
    said = f"{ended}." if ended else "the search has not ended, this is what there is so far."
    *sentences, last = answer(found, command("run", folder / BEST))
    words, colon, rerun = last.partition(": ")
    closing = f"{escaped(words + colon)}<code>{escaped(rerun)}</code>" if rerun else escaped(last)
    return frame(
        found.state.search["name"],
        f"{compared} configurations, {runs} runs: {said}",
        [*map(escaped, sentences), closing],
        [*_parts(found, folder), *more] if found.ranked else [],
    )


def _parts(found: Results, folder: Path) -> Iterator[Section]:
    """The sections of every search."""
    pictures = {row["config_id"]: drawn for row in found.rows if (drawn := _pictures(row, found, folder))}
    yield "leaderboard", "Leaderboard", _board(found, links=set(pictures))
    yield "replicates", "Replicates of every configuration", _shown(charts.replicates(found))
    yield "course", "Score over runs", _shown(charts.course(found))
    slices = "\n".join(chart.html() for chart in importance.slices(found))
    bars = "Bars are 95 % intervals, the" if found.estimate.replicated else "The"
    about = f'<h3>Estimates against every parameter</h3>\n<p class="note">{bars} star is the chosen.'
    slices = f'{about}</p>\n<div class="slices">\n{slices}\n</div>' if slices else ""
    yield "importance", "Which parameters matter", _shown(importance.chart(found)) + slices
    yield "target", "Selection score against target scores", _shown(charts.target(found))
    yield "languages", "Languages", "\n".join(_shown(languages(found, split)) for split in ("dev", "test"))
    yield "components", "Where the variance comes from", _shown(components.chart(found))
    told = f"<p>{escaped(costs.in_words(costs.cost(found.state)))}</p>\n"
    yield "cost", "Time and cost", told + _shown(costs.chart(found))
    yield "failures", "What was tried and failed", _failures(found)
    if pictures:
        yield "pictures", "Pictures of fresh runs", "\n".join(pictures.values())


def _shown(chart: Chart | str) -> str:
    """A chart, or why there is none."""
    return f'<p class="note">{escaped(chart)}</p>' if isinstance(chart, str) else chart.html()


def _board(found: Results, links: set[str]) -> str:
    """The table, the best of each baseline below the configurations; those in `links` point to their pictures."""
    rows, selection = found.rows, found.selection
    ranked = [row for row in rows if not row["baseline"]]
    shown, metric = [*ranked, *found.baselines], f"test/{found.metric}"
    ranks = {row["config_id"]: str(rank) for rank, row in enumerate(found.ranked, start=1)}
    tests = found.languages(name for row in rows for name in _tests(row, metric))
    cells: list[Cells] = [
        (Column("rank", number=True), lambda row: ranks.get(row["config_id"], "")),
        *columns(rows, selection),
        *(
            (Column(f"test {name}", number=True), lambda row, name=name: number(_tests(row, metric).get(name)))
            for name in tests
        ),
    ]
    fewer = of_fewer(shown, metric)
    remarks = [*notes(rows, shown, selection), *([f"test scores leave out failed runs: {fewer}"] if fewer else [])]
    table = Table.of(cells, [ranked, found.baselines], title=title(selection), notes=remarks)
    ids = [row["config_id"] for row in shown]
    pictured = {place: config_id for place, config_id in enumerate(ids) if config_id in links}
    return table.html(chosen=ids.index(found.chosen["config_id"]), links=pictured)


def _tests(row: dict, metric: str) -> dict[str, float]:
    """Mean test scores by language."""
    scores = row["fresh"]["scores"].get(metric, {}) if row["fresh"] else {}
    return {language: of["mean"] for language, of in scores.items()}


def _failures(found: Results) -> str:
    """A table of the runs without a score of their own."""
    rows = failures(found)
    if not rows:
        return "<p>No run that has ended failed, was pruned or predicts a single class.</p>"
    told = [in_common(found), f"{len(rows) - MOST} more are in the ledger." if len(rows) > MOST else ""]
    words = f"<p>{counted(len(rows))}. {escaped(' '.join(filter(None, told)))}</p>\n"
    return words + Table.of(FAILURES, [rows[:MOST]]).html()


def _pictures(row: dict, found: Results, folder: Path) -> str:
    """The pictures of one configuration; empty where it has none."""
    config_id, figures = row["config_id"], []
    for run in found.state.configurations[config_id].of_phase(CONFIRM):
        for picture in read(folder, config_id, run.replicate) if run.status == DONE else []:
            drawing = svg(picture, prefix=f"{config_id}-{run.replicate}-{picture['name']}-")
            caption = escaped(f"{picture['text']} {replicate_name(run.replicate).capitalize()}.")
            figures.append(f"<figure>\n{drawing}<figcaption>{caption}</figcaption>\n</figure>")
    title = f"{row['baseline'] and 'Baseline: ' + row['baseline'] + ', '}{config_id}"
    params = ", ".join(f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in row["params"].items())
    head = f'<h3 id="{escaped(config_id)}">{escaped(title)}</h3>\n<p class="note">{escaped(params)}</p>'
    return "\n".join([f"<section>\n{head}", *figures, "</section>"]) if figures else ""
