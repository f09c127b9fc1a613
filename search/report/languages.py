"""Scores by language: a heat map of configurations, and a chart of the spread over seeds in each language."""

import numpy as np

from seedwise.search.drawing.chart import BLUE, LEGEND, ORANGE, RED, ROW, Chart, label, listed, points, spread_out
from seedwise.search.ledger.state import PRUNED
from seedwise.search.ranking.by_language import MEAN_ALL, MEAN_TARGETS, count_of
from seedwise.search.ranking.results import Results
from seedwise.text import number

CELL_WIDTH = 76  # pixels that a number needs
TWO_LINES = 36  # pixels of a row with two lines of text
SPREAD = 0.5  # share of the distance between two languages over which points are spread
OVER_LANGUAGES = f"{MEAN_TARGETS} is the mean over targets, {MEAN_ALL} the mean over source and targets. "
NAMES_WIDTH = 220  # pixels for the configurations' names and the scale
NAMED = 5  # configurations that a remark names


def languages(results: Results, split: str) -> Chart | str:
    """A heat map of mean scores by configuration and language: `dev` over search seeds, `test` over fresh seeds."""
    key = f"{split}/{results.metric}"
    rows = [row for row in results.charted if scores_by_language(row, key)]
    names = results.languages(name for row in rows for name in scores_by_language(row, key))
    if not names:
        return f"No run reports {results.metric} on {split} sets by language."
    cells = [[scores_by_language(row, key).get(name, {}) for name in names] for row in rows]
    values = [[cell.get("mean") for cell in line] for line in cells]
    heat = {
        "type": "heatmap",
        "x": list(range(len(names))),
        "y": list(range(len(rows))),
        "z": values,
        "text": [[_in_cell(cell) for cell in line] for line in cells],
        "texttemplate": "%{text}",
        "textfont": {"color": "#111111", "size": 11},  # readable on every colour of the scale
        "colorscale": [[0, "#eef4fa"], [1, "#56B4E9"]],
        "hovertemplate": "%{text}<extra></extra>",
        "xgap": 1,
        "ygap": 1,
        "colorbar": {"thickness": 12, "outlinewidth": 0},
    }
    layout = listed(results.names(rows), "")
    bare = {"showgrid": False, "ticks": ""}
    columns = {"tickvals": heat["x"], "ticktext": [label(name) for name in names], "side": "top", **bare}
    layout |= {"xaxis": columns, "yaxis": layout["yaxis"] | bare, "margin": {"l": 20, "r": 20, "t": 40, "b": 10}}
    layout["height"] += (TWO_LINES - ROW) * len(rows)
    seeds = "fresh seeds" if split == "test" else "the search's seeds"
    highest = [max(value for value in column if value is not None) for column in zip(*values, strict=True)]
    summary = "; ".join(
        f"{name}: first row {number(first)}, highest {number(high)}"
        for name, first, high in zip(names, values[0], highest, strict=True)
    )
    text = f"Mean {key} over {seeds} of {len(rows)} configurations by language. {summary}."
    fewer = of_fewer_runs(rows, key)
    remark = f"Failed runs are left out: {fewer}. " if fewer else ""
    caption = (
        f"Means ± standard deviations over {seeds}, the best estimate of the selection score on top. {OVER_LANGUAGES}"
        f"{remark}{results.left_out}"
    )
    width = NAMES_WIDTH + CELL_WIDTH * len(names)
    return Chart(f"languages-{split}", f"{key} by language", text, caption, [heat], layout, width)


def _in_cell(cell: dict) -> str:
    if not cell:
        return ""
    lines = [number(cell["mean"]), *([f"± {number(cell['sd'])}"] if cell["sd"] is not None else [])]
    return "<br>".join(lines) + (f" ({count_of(cell)})" if cell["failed"] else "")


def spreads(results: Results) -> Chart | str:
    """A chart of standard deviations over the search's seeds, by language, with a point per configuration."""
    key = f"dev/{results.metric}"
    rows = [row for row in results.ranked if row["status"] != PRUNED]
    cells = [(row, name, cell) for row in rows for name, cell in scores_by_language(row, key).items()]
    known = [(row, name, cell) for row, name, cell in cells if cell["sd"] is not None]
    if not known:
        return "No configuration ran on two seeds, so how much seeds move a language is unknown."
    names = results.languages(name for _, name, _ in known)
    data = []
    for title, chosen, colour, symbol in (
        ("configurations", False, BLUE, "circle-open"),
        ("chosen", True, RED, "star"),
    ):
        of_kind = [(row, name, cell) for row, name, cell in known if (row is results.chosen) == chosen]
        offsets = spread_out([name for _, name, _ in of_kind], SPREAD)
        x = [names.index(name) + offset for (_, name, _), offset in zip(of_kind, offsets, strict=True)]
        sds = [cell["sd"] for *_, cell in of_kind]
        text = [label(f"{row['config_id']}, {count_of(cell)} seeds: {number(cell['sd'])}") for row, _, cell in of_kind]
        hover = {"text": text, "hovertemplate": "%{text}<extra></extra>"}
        size = 11 if chosen else 7
        data += [points(title, x, sds, colour, symbol=symbol, size=size, **hover)] if x else []
    medians = {name: float(np.median([cell["sd"] for _, other, cell in known if other == name])) for name in names}
    x, y = list(range(len(names))), list(medians.values())
    data.append(points("median", x, y, ORANGE, symbol="line-ew-open", size=26, hovertemplate="%{y:.4f}<extra></extra>"))
    largest = max(medians, key=medians.get)
    text = (
        f"Standard deviations of {key} over seeds, of {len({row['config_id'] for row, *_ in known})} configurations. "
        f"Medians: {', '.join(f'{name} {number(sd)}' for name, sd in medians.items())}; {largest} has the largest."
    )
    caption = (
        "How much the seed moves the score of each language: a point is the standard deviation of one configuration "
        f"over the search's seeds, the bar the median. {OVER_LANGUAGES}Standard deviations over two or three seeds "
        "are rough."
    )
    layout = {
        "xaxis": {"tickvals": x, "ticktext": [label(name) for name in names], "zeroline": False, "automargin": True},
        "yaxis": {"title": {"text": "standard deviation over seeds"}, "rangemode": "tozero", "automargin": True},
        "legend": LEGEND,
    }
    return Chart("spreads", f"What seeds do to {label(key)}", text, caption, data, layout)


def of_fewer_runs(rows: list[dict], key: str) -> str:
    """Name the rows whose means leave out failed runs, which may have no score; empty if there are none."""
    remarks = []
    for row in rows:
        runs = row["fresh"]["replicates"] if key.startswith("test/") and row["fresh"] else row["replicates"]
        counts = sorted({scores["n"] for scores in scores_by_language(row, key).values()})
        if counts and counts[0] < runs:
            remarks.append(f"{row['baseline'] or row['config_id']} over {' to '.join(map(str, counts))} of {runs} runs")
    more = f" and {len(remarks) - NAMED} more" if len(remarks) > NAMED else ""
    return ", ".join(remarks[:NAMED]) + more


def scores_by_language(row: dict, key: str) -> dict[str, dict]:
    """Scores of a row of the leaderboard by language. Scores on test sets come from fresh runs."""
    part = row["fresh"] or {"scores": {}} if key.startswith("test/") else row
    return part["scores"].get(key, {})
