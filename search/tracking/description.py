"""The description of a search in MLflow: how its configurations stand, and how to run it again, as Markdown."""

from collections.abc import Mapping

from seedwise.search.ledger.state import CONFIRM, SEARCH, State
from seedwise.search.ranking.baseline_scores import all_scores
from seedwise.search.ranking.estimate import summary
from seedwise.search.ranking.selection import Selection

SHOWN = 20  # configurations


def description(state: State, selection: Selection, names: Mapping[str, str]) -> str:
    """What the ledger says, for people who only see MLflow. `names` are the configurations' in words.

    The order and the estimates are those of the freeze; before it there are none, and the configurations are asked for
    with MLflow's own tables.
    """
    said = state.finished or state.stopped
    ranked = "" if state.search["specification"].get("landscape") else f"Ranked by {selection.label}. "
    parts = [ranked + (f"Ended: {said}." if state.finished else _unfinished(state))]
    if rows := _rows(state, selection, names):
        head = ["", "configuration", "n", "mean ± sd", "estimate", "P(best)", "fresh seeds"]
        table = ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)]
        parts.append("\n".join(table))
    parts.append(f"Run it again: `{state.search.get('command', '')}`")
    if state.finished and state.frozen:
        parts.append("The best configuration alone: `seedwise run best.yaml` (among the artifacts here).")
    return "\n\n".join(parts) + "\n"


def _unfinished(state: State) -> str:
    if not state.stopped:
        return "It has not ended."
    next_come = "fresh seeds run" if state.frozen else "results are written"
    return f"The search phase is over ({state.stopped}), {next_come}."


def _rows(state: State, selection: Selection, names: Mapping[str, str]) -> list[list[str]]:
    """Configurations as they were frozen, best first, then the baselines that were confirmed."""
    ranked = list(state.estimates)[:SHOWN]
    scores, fresh = (all_scores(state, selection, phase) for phase in (SEARCH, CONFIRM))
    several, rows = replicated(state, selection), []
    for rank, config_id in enumerate([*ranked, *state.frozen_baselines], start=1):
        estimate = state.estimates.get(config_id, {})
        rows.append(
            [
                str(rank) if estimate else "",
                f"{names.get(config_id, '')} (`{config_id}`)",
                str(len(scores.get(config_id, ()))),
                _spread(scores.get(config_id, {})),
                f"{estimate['estimate']:.3f}" if estimate else "",
                "" if not estimate else f"{estimate['p_best']:.2f}" if several else "-",
                _spread(fresh.get(config_id, {})),
            ]
        )
    return rows


def replicated(state: State, selection: Selection) -> bool:
    """Whether any ranked configuration has two scores. Without, the noise is a guess, and P(best) means nothing."""
    ranked = (state.configurations[config_id].of_phase(SEARCH) for config_id in state.estimates)
    scored = ([run for run in runs if run.finished and not run.failed] for runs in ranked)
    return any(sum(selection.score(run.metrics) is not None for run in runs) >= 2 for runs in scored)


def _spread(scores: Mapping[int, float | None]) -> str:
    reported = [score for score in scores.values() if score is not None]
    if not reported:
        return ""
    of = summary(reported)
    return f"{of.mean:.3f}" + ("" if of.sd is None else f" ± {of.sd:.3f}")
