"""A heat map of configurations by languages."""

from seedwise.search.drawing.chart import Chart, label, listed
from seedwise.search.ranking.results import Results
from seedwise.text import number

CELL = 64  # pixels that a number needs
NAMED = 5  # configurations that are named in a remark
NAMES = 220  # pixels of the configurations' names and the scale


def languages(found: Results, split: str) -> Chart | str:
    """Mean scores by configuration and language: `dev` over the search's seeds, `test` over fresh ones."""
    key = f"{split}/{found.metric}"
    rows = [row for row in found.charted if _scores(row, key)]
    names = found.languages(name for row in rows for name in _scores(row, key))
    if not names:
        return f"No run reports {found.metric} on {split} sets by language."
    values = [[_scores(row, key).get(name, {}).get("mean") for name in names] for row in rows]
    heat = {
        "type": "heatmap",
        "x": list(range(len(names))),
        "y": list(range(len(rows))),
        "z": values,
        "texttemplate": "%{z:.3f}",
        "textfont": {"color": "#111111"},  # readable on every colour of the scale
        "colorscale": [[0, "#eef4fa"], [1, "#56B4E9"]],
        "hovertemplate": "%{z:.4f}<extra></extra>",
        "xgap": 1,
        "ygap": 1,
        "colorbar": {"thickness": 12, "outlinewidth": 0},
    }
    layout = listed(found.names(rows), "")
    bare = {"showgrid": False, "ticks": ""}
    columns = {"tickvals": heat["x"], "ticktext": [label(name) for name in names], "side": "top", **bare}
    layout |= {"xaxis": columns, "yaxis": layout["yaxis"] | bare, "margin": {"l": 20, "r": 20, "t": 40, "b": 10}}
    seeds = "fresh seeds" if split == "test" else "the search's seeds"
    told = []
    for place, name in enumerate(names):
        column = [row[place] for row in values]
        highest = max(value for value in column if value is not None)
        told.append(f"{name}: first row {number(column[0])}, highest {number(highest)}")
    text = f"Mean {key} over {seeds} of {len(rows)} configurations by language. {'; '.join(told)}."
    fewer = f"Failed runs without a score are left out: {told}. " if (told := of_fewer(rows, key)) else ""
    caption = f"Means over {seeds}, the best estimate of the selection score on top. {fewer}{found.left_out}"
    return Chart(f"languages-{split}", f"{key} by language", text, caption, [heat], layout, NAMES + CELL * len(names))


def of_fewer(rows: list[dict], key: str) -> str:
    """Which rows' means are of fewer runs than they have, for a failed run may have no score; empty if none is."""
    told = []
    for row in rows:
        runs = row["fresh"]["replicates"] if key.startswith("test/") and row["fresh"] else row["replicates"]
        counts = sorted({of["n"] for of in _scores(row, key).values()})
        if counts and counts[0] < runs:
            told.append(f"{row['baseline'] or row['config_id']} over {' to '.join(map(str, counts))} of {runs} runs")
    more = f" and {len(told) - NAMED} more" if len(told) > NAMED else ""
    return ", ".join(told[:NAMED]) + more


def _scores(row: dict, key: str) -> dict[str, dict]:
    if key.startswith("test/"):
        return row["fresh"]["scores"].get(key, {}) if row["fresh"] else {}
    return row["scores"].get(key, {})
