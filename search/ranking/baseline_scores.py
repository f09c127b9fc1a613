"""The best configuration of each baseline, and its title in a leaderboard. Baselines are shown but never ranked."""

import json
import math
from dataclasses import replace
from statistics import fmean

from seedwise.search.ledger.state import State
from seedwise.search.ranking.run_scores import scores_of
from seedwise.search.ranking.selection import Selection
from seedwise.trainables.methods import built_in


def best_of_each(state: State, selection: Selection) -> list[str]:
    """The best configuration of each baseline, by the mean of the score that ranks the method.

    A baseline that does not report that score is judged by target dev. Logistic regression, for example, has no score
    on the source; it uses target labels anyway, and is marked so.
    """
    on_targets = scores_of(state, replace(selection, on="target_dev", second=None))
    families: dict[str, dict[str, float]] = {}
    for config_id, row in scores_of(state, selection).items():
        if not (params := state.configurations[config_id].params).get("baseline"):
            continue
        scores = (on_targets[config_id] if None in row.values() else row).values()
        mean = -math.inf if None in scores else fmean(scores)
        families.setdefault(title(state.method, params), {})[config_id] = mean
    return [max(means, key=means.get) for means in families.values()]


def title(method: str | dict, params: dict) -> str:
    """The name of a baseline in a leaderboard."""
    spec, name = built_in(method), params["baseline"]
    return spec.baselines[name].title(params) if spec else name


def varying(params: list[dict]) -> list[str]:
    """The parameters whose values differ between the configurations that have them, in order of first appearance.

    A parameter that only some configurations have does not differ for that reason: its other parameters decide that.
    """
    values: dict[str, set[str]] = {}
    for name, value in (pair for config in params for pair in config.items()):
        values.setdefault(name, set()).add(json.dumps(value))
    return [name for name in values if len(values[name]) > 1]
