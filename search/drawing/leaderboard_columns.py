"""The columns of a leaderboard in a terminal, in the report and in MLflow."""

import math
from collections.abc import Sequence

from seedwise.search.drawing.table import Cells, Column
from seedwise.search.ledger.state import PRUNED
from seedwise.search.ranking.baseline_scores import varying
from seedwise.search.ranking.by_language import MEAN_ALL, MEAN_TARGETS, cell_of, in_words
from seedwise.search.ranking.leaderboard import collapsed, mean_of
from seedwise.search.ranking.selection import Selection
from seedwise.text import interval, number, short, spread

SPREAD = 14  # characters of a mean with its spread and the gap after it
HEADERS = {MEAN_TARGETS: "targets", MEAN_ALL: "all"}


def columns(rows: Sequence[dict], selection: Selection, *, wide: bool = True, room: float = math.inf) -> list[Cells]:
    """All columns for rows of `leaderboard`: parameters that differ, the score, fresh seeds if any, the audit.

    `wide=False`, for a narrow terminal, leaves out estimates and intervals. The audit takes at most `room` characters;
    if there is little room, it is only the mean over targets.
    """
    differing = varying([row["params"] for row in rows if not row["baseline"]])

    def parameters(row: dict) -> str:
        if row["baseline"]:
            return f"baseline: {row['baseline']}"
        return " ".join(short(name, row["params"][name]) for name in differing if name in row["params"])

    fresh = [FRESH if wide else NARROW_FRESH] if any(row["fresh"] for row in rows) else []
    audit = [
        (
            Column(HEADERS.get(language := name.rpartition("/")[2], language), number=True, dim=True),
            lambda row, name=name: in_words(cell_of(row["scores"], name)),
        )
        for name in _fitting(audited(rows, selection), room)
    ]
    return [
        (Column("configuration"), lambda row: row["config_id"] + _marks(row, first=row is rows[0])),
        (Column("parameters", long=True), parameters),
        RUNS,
        *((MEAN, ESTIMATE, INTERVAL) if wide else (MEAN,)),
        P_BEST,
        *fresh,
        *audit,
    ]


def audited(rows: Sequence[dict], selection: Selection) -> list[str]:
    """Metrics on dev sets that any row has and that do not rank: by language, then means over languages."""
    means = [f"dev/{selection.metric}/{name}" for name in (MEAN_TARGETS, MEAN_ALL)]
    return [name for name in (*selection.audit, *means) if any(mean_of(row, name) is not None for row in rows)]


def _fitting(names: list[str], room: float) -> list[str]:
    """The audited metrics that fit: all, else the languages, else the mean over targets, else the first."""
    means = [name for name in names if name.endswith((MEAN_TARGETS, MEAN_ALL))]
    languages = [name for name in names if name not in means]
    fits = (some for some in (names, languages, means[:1]) if some and len(some) * SPREAD <= room)
    return next(fits, means[:1] or names[:1])


def _marks(row: dict, *, first: bool) -> str:
    marks = {"=": row["tied"] and row["replicated"] and not first, "*": row.get("front"), "!": collapsed(row)}
    return "".join(f" {mark}" for mark, applies in marks.items() if applies)


def _runs(row: dict) -> str:
    return str(row["replicates"]) + (f" ({row['failed']} failed)" if row["failed"] else "")


def _all_failed(row: dict) -> bool:
    """Whether every run failed. Then the score they count as was not measured, and is not shown."""
    return 0 < row["replicates"] == row["failed"]


def _unmeasured(row: dict) -> str:
    """The word to show if no run measured a score; empty if a run did."""
    return PRUNED if row["status"] == PRUNED else "failed" if _all_failed(row) else ""


def _estimate(row: dict) -> str:
    return _unmeasured(row) or ("" if row["estimate"] is None else number(row["estimate"]))


def _interval(row: dict) -> str:
    if _unmeasured(row) or row["estimate"] is None:
        return ""
    return interval(row["estimate_low"], row["estimate_high"]) if row["replicated"] else "-"


def _p_best(row: dict) -> str:
    return "" if row["baseline"] else f"{row['p_best']:.2f}" if row["replicated"] else "-"


def _fresh(fresh: dict | None, *, wide: bool) -> str:
    if fresh is None or _all_failed(fresh):
        return "" if fresh is None else "failed"
    return spread(fresh["mean"], fresh["sd"]) if wide else number(fresh["mean"])


RUNS = Column("n", number=True), _runs
MEAN = Column("mean ± sd", number=True), lambda row: _unmeasured(row) or spread(row["mean"], row["sd"])
ESTIMATE = Column("estimate", number=True), _estimate
INTERVAL = Column("95 % interval", number=True), _interval
P_BEST = Column("P(best)", number=True), _p_best
FRESH = Column("fresh seeds", number=True), lambda row: _fresh(row["fresh"], wide=True)
NARROW_FRESH = Column("fresh", number=True), lambda row: _fresh(row["fresh"], wide=False)
