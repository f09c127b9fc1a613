"""The leaderboard as a table in the terminal."""

from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from seedwise.search.ranking.baseline_scores import varying
from seedwise.search.ranking.leaderboard import best_baselines, in_words, mean_of
from seedwise.search.ranking.results import Results
from seedwise.search.ranking.selection import Selection
from seedwise.text import number, short

WIDE = 100  # columns of a terminal that has room for intervals
NO_REPLICATES = (
    "no configuration has two replicates: there is no estimate of the noise between seeds, so nothing can be said "
    "about P(best), ties and intervals of estimates"
)


@dataclass(frozen=True)
class Columns:
    """What is shown of every row: the parameters that differ, the score, fresh seeds where there are any, the audit."""

    varying: list[str]
    audit: list[str]
    confirmed: bool
    replicated: bool
    wide: bool

    @classmethod
    def of(cls, rows: list[dict], selection: Selection, *, wide: bool = True) -> "Columns":
        differing = varying([row["params"] for row in rows if not row["baseline"]])
        audit = [name for name in selection.audit if any(mean_of(row, name) is not None for row in rows)]
        return cls(differing, audit, any(row["fresh"] for row in rows), replicated(rows), wide)

    @property
    def names(self) -> list[str]:
        score = ["mean ± sd", "estimate", "95 % interval"] if self.wide else ["estimate ± sd"]
        fresh = ["fresh seeds" if self.wide else "fresh"] if self.confirmed else []
        audit = [name.rpartition("/")[2] for name in self.audit]
        return ["configuration", "parameters", "n", *score, "P(best)", *fresh, *audit]

    def cells(self, row: dict, *, first: bool) -> list[str]:
        """A row's texts under these names; `first` is the best of all."""
        params = [short(name, row["params"][name]) for name in self.varying if name in row["params"]]
        return [
            row["config_id"] + _marks(row, first=first),
            f"baseline: {row['baseline']}" if row["baseline"] else " ".join(params),
            str(row["replicates"]) + (f" ({row['failed']} failed)" if row["failed"] else ""),
            *_score_cells(row, wide=self.wide),
            "" if row["baseline"] else f"{row['p_best']:.2f}" if self.replicated else "-",
            *([_fresh_cell(row["fresh"], wide=self.wide)] if self.confirmed else []),
            *(number(mean_of(row, name)) for name in self.audit),
        ]


def as_table(rows: list[dict], selection: Selection, *, width: int, most: int = 12, left: int = 0) -> Table:
    """The leaderboard for a terminal of `width` columns: what differs between configurations, the score, the audit.

    `left` configurations are not even among the rows.
    """
    table = Table(
        title=f"ranked by the estimate of {selection.label}", title_justify="left", box=SIMPLE_HEAD, padding=0,
        pad_edge=False,
    )  # fmt: skip
    table.caption_justify = "left"
    ranked, baselines = [row for row in rows if not row["baseline"]], best_baselines(rows)
    shown = [*ranked[:most], *baselines]
    columns = Columns.of(rows, selection, wide=width >= WIDE)
    for place, name in enumerate(columns.names):
        audit = place >= len(columns.names) - len(columns.audit)
        look = {"justify": "left" if place < 2 else "right", "style": "dim" if audit else None}
        table.add_column(name, no_wrap=place != 1, **look)
    for row in shown:
        if baselines and row is baselines[0]:
            table.add_section()
        table.add_row(*columns.cells(row, first=row is rows[0]))
    left += max(0, len(rows) - len(shown))
    more = [f"dim: {selection.metric} on dev sets that are not ranked on"] if columns.audit else []
    more += [f"{left} more in leaderboard.csv"] if left else []
    table.caption = "; ".join([*notes(rows, shown, selection), *more])
    return table


def notes(rows: list[dict], shown: list[dict], selection: Selection) -> list[str]:
    """What the marks behind a configuration mean, where any of them is shown."""
    ties = replicated(rows) and any(row["tied"] for row in shown[1:])
    found = ["= cannot be told apart from the best"] if ties else []
    found += [] if replicated(rows) else [NO_REPLICATES]
    found += ["! a single class is predicted in some runs"] if any(row["collapsed"] for row in shown) else []
    if selection.second:
        reported = any(row.get("second") is not None for row in rows)
        by, goal = selection.second
        found.append(f"* on the Pareto front with {goal} {by}" if reported else f"no run reports {by}")
    return found


def _score_cells(row: dict, *, wide: bool) -> list[str]:
    """Own mean, estimate and its interval; in a narrow terminal the estimate with the own spread over seeds."""
    if row["status"] == "pruned":
        return ["", "pruned", ""] if wide else ["pruned"]
    if _only_failed(row):
        return ["", "failed", ""] if wide else ["failed"]
    own = f"{number(row['mean'])} ± {number(row['sd'])}"
    if row["baseline"]:
        return [own, "", ""] if wide else [own]
    if not wide:
        return [f"{number(row['estimate'])} ± {number(row['sd'])}"]
    interval = f"{number(row['estimate_low'])} .. {number(row['estimate_high'])}"
    return [own, number(row["estimate"]), interval if row["replicated"] else "-"]


def _fresh_cell(fresh: dict | None, *, wide: bool) -> str:
    if fresh is None:
        return ""
    if _only_failed(fresh):
        return "failed"
    return f"{number(fresh['mean'])} ± {number(fresh['sd'])}" if wide else number(fresh["mean"])


def _only_failed(row: dict) -> bool:
    """Whether no run has a score of its own. What it counts as by rule is no measurement, and is not shown as one."""
    return 0 < row["replicates"] == row["failed"]


def _marks(row: dict, *, first: bool) -> str:
    marks = {"=": row["tied"] and row["replicated"] and not first, "*": row.get("front"), "!": row["collapsed"]}
    return "".join(f" {mark}" for mark, holds in marks.items() if holds)


def replicated(rows: list[dict]) -> bool:
    """Whether the noise between seeds is known; no rows need no remark."""
    return all(row["replicated"] for row in rows)


def show_leaderboard(results: Results, console: Console) -> None:
    """The leaderboard, how much was compared, and what it cost to choose without target labels."""
    console.print(as_table(results.leaderboard, results.selection, width=console.width))
    compared = sum(not row["baseline"] for row in results.leaderboard)
    runs = sum(run.finished for run in results.state.runs())
    console.print(f"{compared} configurations, {runs} runs: {results.state.finished or 'not finished'}.")
    if price := in_words(results.underspecification):
        console.print(price, soft_wrap=True)
