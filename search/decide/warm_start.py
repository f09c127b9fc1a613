"""A warm start: what earlier searches of the same method found, for the sampler of a new one (`--from DIR`)."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from seedwise.errors import RequestError
from seedwise.folder import LEDGER
from seedwise.search.ledger.state import read
from seedwise.search.ranking.estimator import Estimator
from seedwise.search.ranking.selection import Selection
from seedwise.spaces import config_id

MAX_CONFIGURATIONS = 100  # of one earlier search: the best, and a spread of the others


def read_earlier(folders: Sequence[Path], selection: Selection, method: str | dict) -> list[dict]:
    """The configurations of earlier searches, best first, as `{params, suggested, score}`.

    Scores are in standard deviations from the median of their own search: the data need not be the same. What lies
    outside the new space is passed over by the sampler. A search that was selected on labels of a language that is now
    a target is refused: it would bring them in by the back door.
    """
    configurations = []
    for folder in folders:
        state = read(folder / LEDGER)
        if not state.search:
            raise RequestError(f"--from {folder}", "there is no search here")
        before = state.search["specification"]
        if before["method"] != method:
            raise RequestError(f"--from {folder}", f"its method is {before['method']}, this one's is {method}")
        chosen = Selection.from_specification(before)
        used = set() if chosen.on == "unlabelled" else {name.rpartition("/")[2] for name in chosen.names}
        if not selection.oracle and (leaked := sorted(used & set(selection.targets))):
            raise RequestError(
                f"--from {folder}",
                f"it was selected on labels of {leaked[0]}, a target of this search",
                "Leave it out, or set select.on: target_dev (oracle).",
            )
        estimate = Estimator(chosen).estimate(state)
        if estimate is None:
            raise RequestError(f"--from {folder}", "no run of it has finished")
        scores = (estimate.mean - np.median(estimate.mean)) / (np.std(estimate.mean) or 1.0)
        ranking = estimate.ranking
        if len(ranking) > MAX_CONFIGURATIONS:
            half = MAX_CONFIGURATIONS // 2
            spread = np.linspace(half, len(ranking) - 1, MAX_CONFIGURATIONS - half).astype(int)
            ranking = [*ranking[:half], *(ranking[rank] for rank in spread)]
        for index in ranking:
            configuration, score = state.configurations[estimate.ids[index]], round(float(scores[index]), 6)
            params = {"params": configuration.params, "suggested": configuration.suggested}
            configurations.append({**params, "score": score})
    best: dict[str, dict] = {}
    for configuration in sorted(configurations, key=lambda configuration: -configuration["score"]):
        best.setdefault(config_id(configuration["params"]), configuration)
    return list(best.values())
