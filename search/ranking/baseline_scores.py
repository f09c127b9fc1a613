"""Scores of baselines: of all their runs, and the best of each kind. They are shown and never ranked."""

import json
from statistics import fmean

from seedwise.search.ledger.state import SEARCH, State
from seedwise.search.ranking.selection import Selection
from seedwise.trainables.methods import built_in


def best_of_each(state: State, selection: Selection) -> list[str]:
    """The best configuration of each baseline, by the mean of the score that ranks the method.

    A baseline that does not report that score (logistic regression has no source) is judged by target dev: it uses
    labels of the target anyway, and is marked so.
    """
    families: dict[str, dict[str, float]] = {}
    for identity, found in scores_of(state, selection, SEARCH).items():
        one = state.configurations[identity]
        if None in found.values():
            audits = [
                [run.metrics.get(name, 0.0) for name in selection.audit] for run in one.of_phase(SEARCH) if run.finished
            ]
            found = {index: fmean(scores or [0.0]) for index, scores in enumerate(audits)}
        families.setdefault(title(state.method, one.params), {})[identity] = fmean(found.values())
    return [max(scores, key=scores.get) for scores in families.values()]


def scores_of(state: State, selection: Selection, phase: str) -> dict[str, dict[int, float | None]]:
    """Scores of all finished runs of baselines: configuration id -> replicate -> score, None where none is reported.

    As for the method, a run that failed counts as the lowest score of its phase, its own last one included.
    """
    table = {}
    for one in state.configurations.values():
        runs = [run for run in one.of_phase(phase) if run.finished]
        if one.baseline and runs:
            table[one.config_id] = {run.replicate: (selection.score(run.metrics), run.failed) for run in runs}
    lowest = min((score for row in table.values() for score, _ in row.values() if score is not None), default=0.0)
    return {
        identity: {replicate: lowest if failed else score for replicate, (score, failed) in row.items()}
        for identity, row in table.items()
    }


def all_scores(state: State, selection: Selection, phase: str) -> dict[str, dict[int, float | None]]:
    """Scores of all finished runs of a phase, the method's own and those of baselines."""
    return selection.scores(state, phase) | scores_of(state, selection, phase)


def title(method: str | dict, params: dict) -> str:
    """What a leaderboard calls a baseline. Maps count as kinds: they share one source model, so no source score tells
    them apart."""
    spec, name = built_in(method), params["baseline"]
    name = spec.baselines[name].options.title if spec else name
    return f"{name} {params['map']}" if "map" in params else name


def varying(params: list[dict]) -> list[str]:
    """Names of the parameters that differ between the configurations that have them, in the order they come.

    Whether a configuration has one follows from the others.
    """
    names = dict.fromkeys(name for one in params for name in one)
    return [name for name in names if len({json.dumps(one[name]) for one in params if name in one}) > 1]
