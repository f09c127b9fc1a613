"""The columns of a leaderboard: in a terminal, in the report, in MLflow."""

from collections.abc import Sequence

from seedwise.search.drawing.table import Cells, Column
from seedwise.search.ledger.state import PRUNED
from seedwise.search.ranking.baseline_scores import varying
from seedwise.search.ranking.leaderboard import mean_of
from seedwise.search.ranking.selection import Selection
from seedwise.text import interval, number, short, spread


def columns(rows: Sequence[dict], selection: Selection, *, wide: bool = True) -> list[Cells]:
    """All columns for rows of `leaderboard`: parameters that differ, the score, fresh seeds if any, the audit.

    Without `wide`, for a narrow terminal, the estimate has the spread of the configuration's own seeds beside it, and
    there are no intervals.
    """
    differing = varying([row["params"] for row in rows if not row["baseline"]])

    def parameters(row: dict) -> str:
        if row["baseline"]:
            return f"baseline: {row['baseline']}"
        return " ".join(short(name, row["params"][name]) for name in differing if name in row["params"])

    fresh = [FRESH if wide else NARROW_FRESH] if any(row["fresh"] for row in rows) else []
    audit = [
        (Column(name.rpartition("/")[2], number=True, dim=True), lambda row, name=name: number(mean_of(row, name)))
        for name in audited(rows, selection)
    ]
    return [
        (Column("configuration"), lambda row: row["config_id"] + _marks(row, first=row is rows[0])),
        (Column("parameters", long=True), parameters),
        RUNS,
        *((MEAN, ESTIMATE, INTERVAL) if wide else (NARROW,)),
        P_BEST,
        *fresh,
        *audit,
    ]


def audited(rows: Sequence[dict], selection: Selection) -> list[str]:
    """Metrics on dev sets that are shown but do not rank, if any row has them."""
    return [name for name in selection.audit if any(mean_of(row, name) is not None for row in rows)]


def _marks(row: dict, *, first: bool) -> str:
    marks = {"=": row["tied"] and row["replicated"] and not first, "*": row.get("front"), "!": row["collapsed"]}
    return "".join(f" {mark}" for mark, applies in marks.items() if applies)


def _runs(row: dict) -> str:
    return str(row["replicates"]) + (f" ({row['failed']} failed)" if row["failed"] else "")


def _all_failed(row: dict) -> bool:
    """Whether every run failed. The score that failures count as is no measurement, and is not shown as a score."""
    return 0 < row["replicates"] == row["failed"]


def _unmeasured(row: dict) -> str:
    """The word in place of a score where no run measured one; empty where a run did."""
    return PRUNED if row["status"] == PRUNED else "failed" if _all_failed(row) else ""


def _estimate(row: dict) -> str:
    return _unmeasured(row) or ("" if row["estimate"] is None else number(row["estimate"]))


def _interval(row: dict) -> str:
    if _unmeasured(row) or row["estimate"] is None:
        return ""
    return interval(row["estimate_low"], row["estimate_high"]) if row["replicated"] else "-"


def _narrow(row: dict) -> str:
    return _unmeasured(row) or spread(row["mean"] if row["baseline"] else row["estimate"], row["sd"])


def _p_best(row: dict) -> str:
    return "" if row["baseline"] else f"{row['p_best']:.2f}" if row["replicated"] else "-"


def _fresh(fresh: dict | None, *, wide: bool) -> str:
    if fresh is None or _all_failed(fresh):
        return "" if fresh is None else "failed"
    return spread(fresh["mean"], fresh["sd"]) if wide else number(fresh["mean"])


RUNS = Column("n", number=True), _runs
MEAN = Column("mean ± sd", number=True), lambda row: "" if _unmeasured(row) else spread(row["mean"], row["sd"])
ESTIMATE = Column("estimate", number=True), _estimate
INTERVAL = Column("95 % interval", number=True), _interval
NARROW = Column("estimate ± sd", number=True), _narrow
P_BEST = Column("P(best)", number=True), _p_best
FRESH = Column("fresh seeds", number=True), lambda row: _fresh(row["fresh"], wide=True)
NARROW_FRESH = Column("fresh", number=True), lambda row: _fresh(row["fresh"], wide=False)
