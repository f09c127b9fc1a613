"""The report: the leaderboard and all pictures of a search as one page that needs no network."""

import html
import json
from pathlib import Path

from search.files import write_atomically
from search.ledger import CONFIRM, DONE, State
from search.pictures import plain, read, svg
from search.policy import FRESH
from search.report import in_words, leaderboard, number, underspecification
from search.selection import Selection
from search.standing import Standing
from search.table import Columns, best_baselines, notes

STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 0 auto; padding: 1rem; overflow-wrap: anywhere; }
h1, h2 { line-height: 1.2; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; overflow-wrap: normal; }
th, td { padding: .2rem .6rem; text-align: right; white-space: nowrap; border-bottom: 1px solid #8884; }
th:nth-child(2), th:nth-child(3), td:nth-child(2), td:nth-child(3) { text-align: left; }
tbody + tbody { border-top: 2px solid #888; }
.audit, .note { opacity: .75; }
figure { margin: 1.5rem 0; }
svg { max-width: 100%; height: auto; background: #fff; }
"""


def write(state: State, standing: Standing, folder: Path, *, ended: str) -> Path:
    """Write `report.html` of a search folder. `ended` says why the search did; without it the page is one so far."""
    path = folder / "report.html"
    write_atomically(path, page(state, standing, folder, ended=ended))
    return path


def page(state: State, standing: Standing, folder: Path, *, ended: str) -> str:
    """The page as text; well-formed XML too, so that anything can read it."""
    rows = leaderboard(state, standing)
    sections = {row["config_id"]: found for row in rows if (found := _section(row, state, folder))}
    runs, compared = sum(run.finished for run in state.runs()), sum(not row["baseline"] for row in rows)
    said = f"{ended}." if ended else "the search has not ended, this is what there is so far."
    price = in_words(underspecification(state, standing))
    name = _escaped(state.search["name"])
    return "\n".join(
        [
            f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8"/>\n<title>{name}</title>',
            '<meta name="viewport" content="width=device-width, initial-scale=1"/>',
            f"<style>{STYLE}</style>\n</head>\n<body>\n<h1>{name}</h1>",
            f"<p>{compared} configurations, {runs} runs: {_escaped(said)}</p>",
            _board(rows, standing.selection, links=set(sections)) if rows else "",
            f"<p>{_escaped(price)}</p>" if price else "",
            *sections.values(),
            "</body>\n</html>\n",
        ]
    )


def _board(rows: list[dict], selection: Selection, links: set[str]) -> str:
    """The table, the best of each baseline below the configurations; those in `links` point to their pictures."""
    ranked, baselines = [row for row in rows if not row["baseline"]], best_baselines(rows)
    columns, tests = Columns.of(rows, selection), _tests(rows, selection)
    names = ["rank", *columns.names, *(f"test {language}" for _, language in tests)]
    last = 1 + len(columns.names)
    audit = range(last - len(columns.audit), last)
    lines = []
    for rank, row in enumerate([*ranked, *baselines], start=1):
        fresh = row["fresh"]["scores"] if row["fresh"] else {}
        cells = ["" if row["estimate"] is None else str(rank), *columns.cells(row, first=row is rows[0])]
        cells += [number(fresh.get(metric, {}).get(language, {}).get("mean")) for metric, language in tests]
        lines += ["</tbody><tbody>"] if rank == len(ranked) + 1 else []
        lines.append(_line("td", cells, audit, link=row["config_id"] if row["config_id"] in links else ""))
    remarks = notes(rows, [*ranked, *baselines], selection)
    remarks += [f"grey: {selection.metric} on dev sets that are not ranked on"] if columns.audit else []
    return "\n".join(
        [
            f"<h2>Ranked by the estimate of {_escaped(selection.label)}</h2>",
            f'<div class="wide"><table>\n<thead>{_line("th", names, audit)}</thead><tbody>',
            *lines,
            f'</tbody></table></div>\n<p class="note">{_escaped("; ".join(remarks))}</p>',
        ]
    )


def _tests(rows: list[dict], selection: Selection) -> list[tuple[str, str]]:
    """Where there are test scores of the metric that ranks: its name and the languages."""
    parts = selection.metric.split("/")  # one's own metric may have its split and language with it
    metric = f"test/{parts[1] if len(parts) == 3 else selection.metric}"
    found = [row["fresh"]["scores"].get(metric, {}) for row in rows if row["fresh"]]
    return [(metric, language) for language in dict.fromkeys(language for of_row in found for language in of_row)]


def _line(tag: str, cells: list[str], audit: range, link: str = "") -> str:
    """One row of the table."""
    texts = [_escaped(cell) for cell in cells]
    if link:
        texts[1] = f'<a href="#{_escaped(link)}">{texts[1]}</a>'
    marks = [' class="audit"' if place in audit else "" for place in range(len(texts))]
    return "<tr>" + "".join(f"<{tag}{m}>{text}</{tag}>" for m, text in zip(marks, texts, strict=True)) + "</tr>"


def _section(row: dict, state: State, folder: Path) -> str:
    """The pictures of one configuration; empty where it has none."""
    config_id, figures = row["config_id"], []
    for run in state.configurations[config_id].of_phase(CONFIRM):
        for picture in read(folder, config_id, run.replicate) if run.status == DONE else []:
            drawing = svg(picture, prefix=f"{config_id}-{run.replicate}-{picture['name']}-")
            seed = f"Fresh seed {run.replicate - FRESH + 1}."
            figures.append(f"<figure>\n{drawing}<figcaption>{_escaped(picture['text'])} {seed}</figcaption>\n</figure>")
    title = f"{row['baseline'] and 'Baseline: ' + row['baseline'] + ', '}{config_id}"
    params = ", ".join(f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in row["params"].items())
    head = f'<h2 id="{_escaped(config_id)}">{_escaped(title)}</h2>\n<p class="note">{_escaped(params)}</p>'
    return "\n".join([f"<section>\n{head}", *figures, "</section>"]) if figures else ""


def _escaped(text: str) -> str:
    return html.escape(plain(text))
