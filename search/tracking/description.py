"""The description of a search in MLflow, as Markdown: its best configurations and the command to run it again."""

from collections.abc import Mapping, Sequence

from seedwise.search.drawing.leaderboard_columns import ESTIMATE, FRESH, MEAN, P_BEST, RUNS
from seedwise.search.drawing.table import Column, Table
from seedwise.search.ledger.state import CONFIRM, SEARCH, Run, State
from seedwise.search.ranking.leaderboard import collapsed, single_class
from seedwise.search.ranking.run_scores import Row, known
from seedwise.search.ranking.summary import summary
from seedwise.search.tracking.scores import Scores

MAX_ROWS = 20  # configurations


def description(state: State, scores: Scores, names: Mapping[str, str]) -> str:
    """Describe a search for readers of MLflow. `names` maps configuration ids to readable names.

    Order and estimates are from the freeze. Before the freeze there is no table, since MLflow lists the configurations.
    """
    rows = _rows(state, scores)
    ranked = f"Ranked by {scores.selection.label}. " if rows else ""
    parts = [ranked + (f"Ended: {state.finished}." if state.finished else _unfinished(state))]
    if rows:
        named = (
            Column("configuration"),
            lambda row: f"{names.get(row['config_id'], '')} (`{row['config_id']}`){_mark(row)}",
        )
        rank = Column("", number=True), lambda row: row["rank"]
        parts.append(Table.of([rank, named, RUNS, MEAN, ESTIMATE, P_BEST, FRESH], [rows]).markdown())
        if any(map(collapsed, rows)):
            parts.append("! a single class is predicted in some runs")
    parts.append(f"Run it again: `{state.search.get('command', '')}`")
    if state.finished and state.frozen:
        parts.append("The best configuration alone: `seedwise run best.yaml` (among the artifacts here).")
    return "\n\n".join(parts) + "\n"


def _mark(row: dict) -> str:
    return " !" if collapsed(row) else ""


def _unfinished(state: State) -> str:
    if not state.stopped:
        return "The search has not ended."
    next_come = "fresh seeds run" if state.frozen else "results are written"
    return f"The search phase is over ({state.stopped}), {next_come}."


def _rows(state: State, scores: Scores) -> list[dict]:
    """Rows of a leaderboard: configurations in the order of the freeze, then the confirmed baselines."""
    rows = []
    for rank, config_id in enumerate([*list(state.estimates)[:MAX_ROWS], *state.frozen_baselines], start=1):
        estimate = state.estimates.get(config_id)
        runs, rows_of = state.configurations[config_id].of_phase, scores.rows.get(config_id, ({}, {}))
        searched, fresh = (_summarised(row, runs(of)) for row, of in zip(rows_of, (SEARCH, CONFIRM), strict=True))
        rows.append(
            {
                **searched,
                **(estimate or {"estimate": None, "p_best": None}),
                "rank": str(rank) if estimate else "",
                "baseline": not estimate,
                "replicated": scores.replicated,
                "config_id": config_id,
                "status": "",
                "fresh": fresh if fresh["replicates"] else None,
            }
        )
    return rows


def _summarised(row: Row, runs: Sequence[Run]) -> dict:
    """Summarise these runs. `row` has the scores they count with, by replicate."""
    over, failed = summary(known(row)) if known(row) else None, sum(run.failed for run in runs)
    return {
        "replicates": len(row),
        "failed": failed,
        "collapsed": any(map(single_class, runs)),
        "mean": over and over.mean,
        "sd": over and over.sd,
    }
