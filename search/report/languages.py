"""A heat map of configurations by languages."""

from seedwise.search.drawing.chart import Chart, label, listed
from seedwise.search.ranking.results import Results
from seedwise.text import number

CELL_WIDTH = 64  # pixels that a number needs
NAMES_WIDTH = 220  # pixels of the configurations' names and the scale
NAMED = 5  # configurations that are named in a remark


def languages(results: Results, split: str) -> Chart | str:
    """Mean scores by configuration and language: `dev` over the search's seeds, `test` over fresh ones."""
    key = f"{split}/{results.metric}"
    rows = [row for row in results.charted if scores_by_language(row, key)]
    names = results.languages(name for row in rows for name in scores_by_language(row, key))
    if not names:
        return f"No run reports {results.metric} on {split} sets by language."
    values = [[scores_by_language(row, key).get(name, {}).get("mean") for name in names] for row in rows]
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
    layout = listed(results.names(rows), "")
    bare = {"showgrid": False, "ticks": ""}
    columns = {"tickvals": heat["x"], "ticktext": [label(name) for name in names], "side": "top", **bare}
    layout |= {"xaxis": columns, "yaxis": layout["yaxis"] | bare, "margin": {"l": 20, "r": 20, "t": 40, "b": 10}}
    seeds = "fresh seeds" if split == "test" else "the search's seeds"
    highest = [max(value for value in column if value is not None) for column in zip(*values, strict=True)]
    summary = "; ".join(
        f"{name}: first row {number(first)}, highest {number(high)}"
        for name, first, high in zip(names, values[0], highest, strict=True)
    )
    text = f"Mean {key} over {seeds} of {len(rows)} configurations by language. {summary}."
    fewer = of_fewer_runs(rows, key)
    remark = f"Failed runs without a score are left out: {fewer}. " if fewer else ""
    caption = f"Means over {seeds}, the best estimate of the selection score on top. {remark}{results.left_out}"
    width = NAMES_WIDTH + CELL_WIDTH * len(names)
    return Chart(f"languages-{split}", f"{key} by language", text, caption, [heat], layout, width)


def of_fewer_runs(rows: list[dict], key: str) -> str:
    """Which rows' means are of fewer runs than they have, for a failed run may have no score; empty if none is."""
    remarks = []
    for row in rows:
        runs = row["fresh"]["replicates"] if key.startswith("test/") and row["fresh"] else row["replicates"]
        counts = sorted({scores["n"] for scores in scores_by_language(row, key).values()})
        if counts and counts[0] < runs:
            remarks.append(f"{row['baseline'] or row['config_id']} over {' to '.join(map(str, counts))} of {runs} runs")
    more = f" and {len(remarks) - NAMED} more" if len(remarks) > NAMED else ""
    return ", ".join(remarks[:NAMED]) + more


def scores_by_language(row: dict, key: str) -> dict[str, dict]:
    """Scores of a row of the leaderboard by language; of a metric on test sets, which only fresh runs have read."""
    part = row["fresh"] or {"scores": {}} if key.startswith("test/") else row
    return part["scores"].get(key, {})
