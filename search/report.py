"""The leaderboard: one row per configuration, best first, as data, as files and as a table."""

import csv
import json
from dataclasses import asdict
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.table import Table

from search.estimate import p_best, summary, tied
from search.files import write_atomically, writing
from search.ledger import Configuration, State
from search.selection import Selection

WIDE = 100  # columns of a terminal that has room for intervals


def leaderboard(state: State, selection: Selection) -> list[dict]:
    """The rows of `leaderboard.json`, best mean first; configurations without a finished run are left out.

    Ties in the mean go to the smaller configuration id, so that the order never depends on which run ended first.
    """
    scores = selection.scores(state)
    ranked = sorted(scores, key=lambda key: (-summary(list(scores[key].values())).mean, key))
    if not ranked:
        return []
    chances = p_best([list(scores[key].values()) for key in ranked])
    return [
        _row(state.configurations[key], scores[key], chance, tied(scores[ranked[0]], scores[key]))
        for key, chance in zip(ranked, chances, strict=True)
    ]


def _row(configuration: Configuration, scores: dict[int, float], chance: float, is_tied: bool) -> dict:
    runs = [configuration.runs[replicate] for replicate in sorted(scores)]
    failures = sorted({run.status for run in runs if run.failed})
    of_score = asdict(summary([scores[run.replicate] for run in runs]))
    return {
        "config_id": configuration.config_id,
        "params": configuration.params,
        "replicates": of_score.pop("n"),
        **of_score,
        "p_best": chance,
        "tied": is_tied,
        "status": ", ".join(failures) or "done",
        "failed": sum(run.failed for run in runs),
        "scores": _per_language([run.metrics for run in runs]),
        "seconds": sum(run.seconds for run in runs),
    }


def _per_language(metrics: list[dict[str, float]]) -> dict[str, dict[str, dict]]:
    """`{"dev/macro_f1": {"bel": {mean, sd, n}}}` from the flat metrics of several runs."""
    table: dict[str, dict[str, dict]] = {}
    for name in sorted({name for of_run in metrics for name in of_run}):
        values = summary([of_run[name] for of_run in metrics if name in of_run])
        metric, _, language = name.rpartition("/")
        table.setdefault(metric or name, {})[language] = {"mean": values.mean, "sd": values.sd, "n": values.n}
    return table


def write(rows: list[dict], folder: Path) -> None:
    """leaderboard.json, and leaderboard.csv with one column per parameter and per score."""
    write_atomically(folder / "leaderboard.json", json.dumps(rows, indent=1, ensure_ascii=False) + "\n")
    plain = ["config_id", "replicates", "mean", "sd", "ci_low", "ci_high", "p_best", "tied", "status", "seconds"]
    parameters = list(dict.fromkeys(name for row in rows for name in row["params"]))
    scores = list(
        dict.fromkeys((metric, language) for row in rows for metric, of in row["scores"].items() for language in of)
    )
    with writing(folder / "leaderboard.csv") as file:
        table = csv.writer(file)
        table.writerow([*plain, *(f"params.{name}" for name in parameters), *("/".join(pair) for pair in scores)])
        for row in rows:
            table.writerow(
                [row[name] for name in plain]
                + [row["params"].get(name, "") for name in parameters]
                + [row["scores"].get(metric, {}).get(language, {}).get("mean", "") for metric, language in scores]
            )


def as_table(rows: list[dict], selection: Selection, *, width: int, most: int = 12) -> Table:
    """The leaderboard for a terminal of `width` columns: what differs between configurations, the score, the audit."""
    table = Table(
        title=f"ranked by {selection.label}", title_justify="left", box=SIMPLE_HEAD, padding=0, pad_edge=False
    )
    table.caption_justify = "left"
    varying = _varying([row["params"] for row in rows])
    audit = [name for name in selection.audit if any(_mean(row, name) is not None for row in rows)]
    table.add_column("configuration", no_wrap=True)
    table.add_column("parameters")
    for name in ("n", "mean ± sd", *(["95 % interval"] if width >= WIDE else []), "P(best)"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in audit:
        table.add_column(name.rpartition("/")[2], justify="right", style="dim", no_wrap=True)
    for row in rows[:most]:
        params = [short(name, row["params"][name]) for name in varying if name in row["params"]]
        interval = f"{number(row['ci_low'])} .. {number(row['ci_high'])}"
        table.add_row(
            row["config_id"] + (" =" if row["tied"] and row is not rows[0] else ""),
            " ".join(params),
            str(row["replicates"]) + (f" ({row['failed']} failed)" if row["failed"] else ""),
            f"{number(row['mean'])} ± {number(row['sd'])}",
            *([interval] if width >= WIDE else []),
            f"{row['p_best']:.2f}",
            *(number(_mean(row, name)) for name in audit),
        )
    notes = ["= cannot be told apart from the best"] if any(row["tied"] for row in rows[1:most]) else []
    notes += [f"dim: {selection.metric} on dev sets that are not ranked on"] if audit else []
    notes += [f"{len(rows) - most} more in leaderboard.csv"] if len(rows) > most else []
    table.caption = "; ".join(notes)
    return table


def _mean(row: dict, name: str) -> float | None:
    metric, _, language = name.rpartition("/")
    return row["scores"].get(metric, {}).get(language, {}).get("mean")


def _varying(params: list[dict]) -> list[str]:
    """Names of the parameters that differ between the rows: the rest would be noise in a narrow terminal."""
    names = dict.fromkeys(name for row in params for name in row)
    return [name for name in names if len({json.dumps(row.get(name)) for row in params}) > 1]


def number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def short(name: str, value: object) -> str:
    """A parameter in few letters: words speak for themselves, numbers need their name."""
    if isinstance(value, str) and value != "all":
        return value
    return f"{name}={value:.3g}" if isinstance(value, float) else f"{name}={value}"
