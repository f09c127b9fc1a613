"""The report: the answer, the leaderboard, charts and all pictures of a search as one page that needs no network."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from seedwise.files import write_atomically
from seedwise.folder import BEST, REPORT
from seedwise.program import command
from seedwise.search.decide.policy import FRESH
from seedwise.search.drawing.chart import Chart, escaped
from seedwise.search.drawing.html import frame, line, table
from seedwise.search.drawing.svg import read, svg
from seedwise.search.ledger.state import CONFIRM, DONE
from seedwise.search.report import charts, components, costs, importance
from seedwise.search.report.answer import answer
from seedwise.search.report.failures import MOST, counted, failures, in_common
from seedwise.search.report.findings import Findings
from seedwise.search.report.languages import languages, of_fewer
from seedwise.search.report.table import Columns, notes
from seedwise.text import number

Section = tuple[str, str, str]  # key, title, content


def write(found: Findings, folder: Path, *, ended: str, more: Sequence[Section] = ()) -> Path:
    """Write `report.html` of a search folder. `ended` says why the search did; without it the page is one so far.

    `more` are sections after the report's own.
    """
    path = folder / REPORT
    write_atomically(path, page(found, folder, ended=ended, more=more))
    return path


def page(found: Findings, folder: Path, *, ended: str, more: Sequence[Section] = ()) -> str:
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


def _parts(found: Findings, folder: Path) -> Iterator[Section]:
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


def _board(found: Findings, links: set[str]) -> str:
    """The table, the best of each baseline below the configurations; those in `links` point to their pictures."""
    rows, selection = found.rows, found.selection
    ranked = [row for row in rows if not row["baseline"]]
    shown = [*ranked, *found.baselines]
    columns, metric = Columns.of(rows, selection), f"test/{found.metric}"
    tests = found.languages(name for row in rows if row["fresh"] for name in row["fresh"]["scores"].get(metric, {}))
    names = ["rank", *columns.names, *(f"test {language}" for language in tests)]
    last = 1 + len(columns.names)
    audit = range(last - len(columns.audit), last)
    kinds = ["number", "", "long", *("audit number" if place in audit else "number" for place in range(3, len(names)))]
    lines = []
    for rank, row in enumerate(shown, start=1):
        fresh = row["fresh"]["scores"].get(metric, {}) if row["fresh"] else {}
        cells = ["" if row["estimate"] is None else str(rank), *columns.cells(row, first=row is rows[0])]
        texts = [escaped(cell) for cell in [*cells, *(number(fresh.get(name, {}).get("mean")) for name in tests)]]
        if row["config_id"] in links:
            texts[1] = f'<a href="#{escaped(row["config_id"])}">{texts[1]}</a>'
        lines += ["</tbody><tbody>"] if rank == len(ranked) + 1 else []
        lines.append(line("td", texts, kinds, ' class="chosen"' if row is found.chosen else ""))
    remarks = [f"ranked by the estimate of {selection.label}", *notes(rows, shown, selection)]
    remarks += [f"test scores leave out failed runs: {fewer}"] if (fewer := of_fewer(shown, metric)) else []
    remarks += [f"grey: {selection.metric} on dev sets that are not ranked on"] if columns.audit else []
    board = table(line("th", [escaped(name) for name in names], kinds), lines)
    return f'{board}\n<p class="note">{escaped("; ".join(remarks))}</p>'


def _failures(found: Findings) -> str:
    """A table of the runs without a score of their own."""
    rows = failures(found)
    if not rows:
        return "<p>No run that has ended failed, was pruned or predicts a single class.</p>"
    names = ["configuration", "replicate", "phase", "kind", "seconds", "parameters", "error"]
    kinds = ["", "number", "", "", "number", "long", "long"]
    lines = []
    for row in rows[:MOST]:
        texts = [row["config_id"], str(row["replicate"]), row["phase"], row["kind"], f"{row['seconds']:.1f}"]
        lines.append(line("td", [escaped(text) for text in (*texts, row["params"], row["error"])], kinds))
    told = [in_common(found), f"{len(rows) - MOST} more are in the ledger." if len(rows) > MOST else ""]
    words = f"<p>{counted(len(rows))}. {escaped(' '.join(filter(None, told)))}</p>\n"
    return words + table(line("th", names, kinds), lines)


def _pictures(row: dict, found: Findings, folder: Path) -> str:
    """The pictures of one configuration; empty where it has none."""
    config_id, figures = row["config_id"], []
    for run in found.state.configurations[config_id].of_phase(CONFIRM):
        for picture in read(folder, config_id, run.replicate) if run.status == DONE else []:
            drawing = svg(picture, prefix=f"{config_id}-{run.replicate}-{picture['name']}-")
            seed = f"Fresh seed {run.replicate - FRESH + 1}."
            figures.append(f"<figure>\n{drawing}<figcaption>{escaped(picture['text'])} {seed}</figcaption>\n</figure>")
    title = f"{row['baseline'] and 'Baseline: ' + row['baseline'] + ', '}{config_id}"
    params = ", ".join(f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in row["params"].items())
    head = f'<h3 id="{escaped(config_id)}">{escaped(title)}</h3>\n<p class="note">{escaped(params)}</p>'
    return "\n".join([f"<section>\n{head}", *figures, "</section>"]) if figures else ""
