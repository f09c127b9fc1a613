"""The report: the answer, the leaderboard, charts and pictures of a search on one page that needs no network."""

import json
from collections.abc import Collection, Iterator, Sequence
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
from seedwise.search.ranking.by_language import in_words
from seedwise.search.ranking.results import Results
from seedwise.search.report import charts, components, costs, importance
from seedwise.search.report.answer import answer
from seedwise.search.report.failures import LISTED, count_runs, failures, in_common
from seedwise.search.report.languages import languages, of_fewer_runs, scores_by_language, spreads
from seedwise.search.report.table import notes, title

Section = tuple[str, str, str]  # key, title, content
FAILURES: list[Cells] = [
    (Column("configuration"), itemgetter("config_id")),
    (Column("seed"), lambda row: replicate_name(row["replicate"])),
    (Column("phase"), itemgetter("phase")),
    (Column("kind"), itemgetter("kind")),
    (Column("seconds", number=True), lambda row: f"{row['seconds']:.1f}"),
    (Column("parameters", long=True), itemgetter("params")),
    (Column("error", long=True), itemgetter("error")),
]


def write(results: Results, folder: Path, *, ended: str, more: Sequence[Section] = ()) -> Path:
    """Write `report.html` to a search folder. `ended` says why the search ended; it is empty while the search runs.

    `more` sections come last.
    """
    path = folder / REPORT
    write_atomically(path, page(results, folder, ended=ended, more=more))
    return path


def page(results: Results, folder: Path, *, ended: str, more: Sequence[Section] = ()) -> str:
    """The HTML of the page."""
    runs, compared = sum(run.finished for run in results.state.runs()), sum(not row["baseline"] for row in results.rows)
    status = f"{ended}." if ended else "the search has not ended; these are the results so far."
    *sentences, last = answer(results, command("run", folder / BEST))
    words, colon, rerun = last.partition(": ")
    closing = f"{escaped(words + colon)}<code>{escaped(rerun)}</code>" if rerun else escaped(last)
    return frame(
        results.state.search["name"],
        f"{compared} configurations, {runs} runs: {status}",
        [*map(escaped, sentences), closing],
        [*_sections(results, folder), *more] if results.ranked else [],
    )


def _sections(results: Results, folder: Path) -> Iterator[Section]:
    """The sections that every report has."""
    pictures = {row["config_id"]: drawn for row in results.rows if (drawn := _pictures(row, results, folder))}
    yield "leaderboard", "Leaderboard", _leaderboard(results, pictures.keys())
    yield "replicates", "Replicates of every configuration", _chart(charts.replicates(results))
    yield "course", "Score over runs", _chart(charts.course(results))
    slices = "\n".join(chart.html() for chart in importance.slices(results))
    bars = "Bars are 95 % intervals, the" if results.estimate.replicated else "The"
    about = f'<h3>Estimates against every parameter</h3>\n<p class="note">{bars} star is the chosen configuration.'
    slices = f'{about}</p>\n<div class="slices">\n{slices}\n</div>' if slices else ""
    yield "importance", "Which parameters matter", _chart(importance.chart(results)) + slices
    yield "target", "Selection score against target scores", _chart(charts.target(results))
    by_language = (languages(results, "dev"), spreads(results), languages(results, "test"))
    yield "languages", "Languages", "\n".join(map(_chart, by_language))
    yield "components", "Where the variance comes from", _chart(components.chart(results))
    cost = f"<p>{escaped(costs.in_words(costs.cost(results.state)))}</p>\n"
    yield "cost", "Time and cost", cost + _chart(costs.chart(results))
    yield "failures", "Runs that failed, were pruned or predict a single class", _failures(results)
    if pictures:
        yield "pictures", "Pictures of fresh runs", "\n".join(pictures.values())


def _chart(chart: Chart | str) -> str:
    """The HTML of a chart, or of the reason for its absence."""
    return f'<p class="note">{escaped(chart)}</p>' if isinstance(chart, str) else chart.html()


def _leaderboard(results: Results, pictured: Collection[str]) -> str:
    """The table of configurations, then the best of each baseline. Ids in `pictured` link to pictures."""
    rows, selection = results.rows, results.selection
    ranked = [row for row in rows if not row["baseline"]]
    shown, metric = [*ranked, *results.baselines], f"test/{results.metric}"
    ranks = {row["config_id"]: str(rank) for rank, row in enumerate(results.ranked, start=1)}
    tested = results.languages(name for row in rows for name in scores_by_language(row, metric))
    cells: list[Cells] = [
        (Column("rank", number=True), lambda row: ranks.get(row["config_id"], "")),
        *columns(rows, selection),
        *(
            (
                Column(f"test {name}", number=True),
                lambda row, name=name: in_words(scores_by_language(row, metric).get(name, {})),
            )
            for name in tested
        ),
    ]
    fewer = of_fewer_runs(shown, metric)
    remarks = [*notes(rows, shown, selection), *([f"test scores leave out failed runs: {fewer}"] if fewer else [])]
    table = Table.of(cells, [ranked, results.baselines], title=title(selection), notes=remarks)
    ids = [row["config_id"] for row in shown]
    links = {index: config_id for index, config_id in enumerate(ids) if config_id in pictured}
    return table.html(chosen=ids.index(results.chosen["config_id"]), links=links)


def _failures(results: Results) -> str:
    """A table of the runs that failed, were pruned or predict a single class."""
    rows = failures(results)
    if not rows:
        return "<p>No run that has ended failed, was pruned or predicts a single class.</p>"
    remarks = [in_common(results), f"{len(rows) - LISTED} more are in the ledger." if len(rows) > LISTED else ""]
    words = f"<p>{count_runs(len(rows))}. {escaped(' '.join(filter(None, remarks)))}</p>\n"
    return words + Table.of(FAILURES, [rows[:LISTED]]).html()


def _pictures(row: dict, results: Results, folder: Path) -> str:
    """The pictures of one configuration; empty if it has none."""
    config_id, figures = row["config_id"], []
    for run in results.state.configurations[config_id].of_phase(CONFIRM):
        for picture in read(folder, config_id, run.replicate) if run.status == DONE else []:
            drawing = svg(picture, prefix=f"{run.name}-{picture['name']}-")
            caption = escaped(f"{picture['text']} {replicate_name(run.replicate).capitalize()}.")
            figures.append(f"<figure>\n{drawing}<figcaption>{caption}</figcaption>\n</figure>")
    title = f"{row['baseline'] and 'Baseline: ' + row['baseline'] + ', '}{config_id}"
    params = ", ".join(f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in row["params"].items())
    head = f'<h3 id="{escaped(config_id)}">{escaped(title)}</h3>\n<p class="note">{escaped(params)}</p>'
    return "\n".join([f"<section>\n{head}", *figures, "</section>"]) if figures else ""
