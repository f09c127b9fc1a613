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
    for config_id, scores in scores_of(state, selection, SEARCH).items():
        configuration, values = state.configurations[config_id], list(scores.values())
        if None in values:
            runs = [run for run in configuration.of_phase(SEARCH) if run.finished]
            audits = [[run.metrics.get(name, 0.0) for name in selection.audit] for run in runs]
            values = [fmean(audit or [0.0]) for audit in audits]
        families.setdefault(title(state.method, configuration.params), {})[config_id] = fmean(values)
    return [max(means, key=means.get) for means in families.values()]


def scores_of(state: State, selection: Selection, phase: str) -> dict[str, dict[int, float | None]]:
    """Scores of all finished runs of baselines: configuration id -> replicate -> score, None where none is reported.

    As for the method, a run that failed counts as the lowest score of its phase, its own last one included.
    """
    baselines = [configuration for configuration in state.configurations.values() if configuration.baseline]
    runs = [run for configuration in baselines for run in configuration.of_phase(phase) if run.finished]
    scores = [selection.score(run.metrics) for run in runs]
    lowest = min((score for score in scores if score is not None), default=0.0)
    table: dict[str, dict[int, float | None]] = {}
    for run, score in zip(runs, scores, strict=True):
        table.setdefault(run.config_id, {})[run.replicate] = lowest if run.failed else score
    return table


def title(method: str | dict, params: dict) -> str:
    """What a leaderboard calls a baseline."""
    spec, name = built_in(method), params["baseline"]
    return spec.baselines[name].title(params) if spec else name


def varying(params: list[dict]) -> list[str]:
    """Names of the parameters that differ between the configurations that have them, in the order they come.

    Whether a configuration has one follows from the others.
    """
    values: dict[str, set[str]] = {}
    for name, value in (pair for config in params for pair in config.items()):
        values.setdefault(name, set()).add(json.dumps(value))
    return [name for name in values if len(values[name]) > 1]
