"""Decides when the first run of a configuration is cut short, by ASHA or the median rule, from the ledger alone.

Runs are compared at equal shares of their schedules, not at equal steps: with a linear decay of the learning rate, the
scores of a run of 40 epochs hardly settle by epoch 10, but those of a run of 12 epochs nearly do. Only replicate 0 is
compared: every configuration has it, and its seeds are the same for all configurations.
"""

import math

from seedwise.search.ledger.state import SEARCH, Run, State
from seedwise.search.ranking.selection import Selection

ETA = 3  # ASHA keeps the best third at each rung
RUNGS = (1 / 9, 1 / 3)  # shares of a schedule
GRACE = 1 / 4  # the median rule leaves a run alone before this share
PEERS = 5  # the median rule needs at least this many other runs that got as far


def prunes(rule: str, state: State, selection: Selection, run: Run) -> str:
    """Why this run should end now, after the step that it has just reported; empty if it may continue."""
    if rule == "off" or run.replicate != 0 or run.phase != SEARCH or not 0 < run.step < run.epochs:
        return ""
    shares = RUNGS if rule == "asha" else [max(GRACE, run.step / run.epochs)]
    share = next((share for share in shares if step_at(share, run.epochs) == run.step), None)
    own = None if share is None else best_score(selection, run, share)
    if own is None:
        return ""
    firsts = [config.runs[0] for config in state.configurations.values() if not config.baseline and 0 in config.runs]
    peers = [best_score(selection, peer, share) for peer in firsts if peer is not run and not peer.failed]
    scores = [score for score in peers if score is not None]
    count, ahead = len(scores) + 1, sum(score > own for score in scores)
    if rule == "asha":
        poor, words = count >= ETA and ahead >= count // ETA, f"not among the best 1/{ETA}"
    else:
        poor, words = len(scores) >= PEERS and ahead > len(scores) / 2, "below the median"
    return f"{words} of {count} runs after {share:.0%} of their schedules" if poor else ""


def best_score(selection: Selection, run: Run, share: float) -> float | None:
    """The best score of a run up to a share of its schedule; None if it has not got there yet."""
    last = step_at(share, run.epochs)
    if not run.epochs or run.step < last:
        return None
    scores = [selection.score(metrics) for step, metrics in run.steps.items() if step <= last]
    return max((score for score in scores if score is not None), default=None)


def step_at(share: float, epochs: int) -> int:
    """The first step after which a share of the schedule is done."""
    return max(1, math.ceil(share * epochs - 1e-9))
