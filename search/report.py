"""The leaderboard: one row per configuration, best first, as data, as files and as a table."""

import csv
import json
from dataclasses import asdict
from pathlib import Path

from rich.table import Table

from search.estimate import p_best, summary, tied
from search.files import write_atomically, writing
from search.ledger import Configuration, State
from search.selection import Selection


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


def as_table(rows: list[dict], selection: Selection, *, most: int = 12) -> Table:
    """The leaderboard for a terminal: what differs between configurations, the score, and the audit columns."""
    table = Table(title=f"ranked by {selection.label}", title_justify="left", header_style="bold")
    varying = _varying([row["params"] for row in rows])
    audit = [
        (f"dev/{selection.metric}", language)
        for language in (selection.source, *selection.targets)
        if f"dev/{selection.metric}/{language}" not in selection.names
    ]
    for name in ("configuration", *varying, "n", "mean", "sd", "95 % interval", "P(best)"):
        table.add_column(name, justify="left" if name == "configuration" else "right")
    for _, language in audit:
        table.add_column(f"{language} (audit)", justify="right", style="dim")
    for row in rows[:most]:
        of_audit = [row["scores"].get(metric, {}).get(language, {}).get("mean") for metric, language in audit]
        table.add_row(
            row["config_id"] + (" =" if row["tied"] and row is not rows[0] else ""),
            *(short(row["params"].get(name, "")) for name in varying),
            str(row["replicates"]) + (f" ({row['failed']} failed)" if row["failed"] else ""),
            *(number(value) for value in (row["mean"], row["sd"])),
            f"{number(row['ci_low'])} .. {number(row['ci_high'])}",
            f"{row['p_best']:.2f}",
            *(number(value) for value in of_audit),
        )
    if len(rows) > most:
        table.caption = f"and {len(rows) - most} more in leaderboard.csv"
    elif any(row["tied"] for row in rows[1:]):
        table.caption = "= cannot be told apart from the best"
    return table


def _varying(params: list[dict]) -> list[str]:
    """Names of the parameters that differ between the rows: the rest would be noise in a narrow terminal."""
    names = dict.fromkeys(name for row in params for name in row)
    return [name for name in names if len({json.dumps(row.get(name)) for row in params}) > 1]


def number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def short(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
