"""The description of a search in MLflow: how its configurations stand, and how to run it again, as Markdown."""

from collections.abc import Mapping

from seedwise.search.drawing.leaderboard_columns import ESTIMATE, FRESH, MEAN, P_BEST, RUNS
from seedwise.search.drawing.table import Column, Table
from seedwise.search.ledger.state import State
from seedwise.search.ranking.estimate import summary
from seedwise.search.tracking.scores import Scores

SHOWN = 20  # configurations


def description(state: State, scores: Scores, names: Mapping[str, str]) -> str:
    """What the ledger says, for people who only see MLflow. `names` are the configurations' in words.

    The order and the estimates are those of the freeze; before it there are none, and the configurations are asked for
    with MLflow's own tables.
    """
    said = state.finished or state.stopped
    ranked = "" if state.search["specification"].get("landscape") else f"Ranked by {scores.selection.label}. "
    parts = [ranked + (f"Ended: {said}." if state.finished else _unfinished(state))]
    if rows := _rows(state, scores):
        named = Column("configuration"), lambda row: f"{names.get(row['config_id'], '')} (`{row['config_id']}`)"
        rank = Column("", number=True), lambda row: row["rank"]
        parts.append(Table.of([rank, named, RUNS, MEAN, ESTIMATE, P_BEST, FRESH], [rows]).markdown())
    parts.append(f"Run it again: `{state.search.get('command', '')}`")
    if state.finished and state.frozen:
        parts.append("The best configuration alone: `seedwise run best.yaml` (among the artifacts here).")
    return "\n\n".join(parts) + "\n"


def _unfinished(state: State) -> str:
    if not state.stopped:
        return "It has not ended."
    next_come = "fresh seeds run" if state.frozen else "results are written"
    return f"The search phase is over ({state.stopped}), {next_come}."


def _rows(state: State, scores: Scores) -> list[dict]:
    """Configurations as they were frozen, best first, then the baselines that were confirmed."""
    rows = []
    for rank, config_id in enumerate([*list(state.estimates)[:SHOWN], *state.frozen_baselines], start=1):
        estimate = state.estimates.get(config_id)
        known = estimate or {"estimate": None, "p_best": None}
        searched, fresh = (_summarised(row) for row in scores.rows.get(config_id, ({}, {})))
        shown = {"rank": str(rank) if estimate else "", "baseline": not estimate, "replicated": scores.replicated}
        shown |= {"config_id": config_id, "status": "", "fresh": fresh if fresh["replicates"] else None}
        rows.append(searched | known | shown)
    return rows


def _summarised(row: Mapping[int, float | None]) -> dict:
    """Scores by replicate as they count: a failed run has the lowest of all."""
    reported = [score for score in row.values() if score is not None]
    of = summary(reported) if reported else None
    return {"replicates": len(row), "failed": 0, "mean": of and of.mean, "sd": of and of.sd}
