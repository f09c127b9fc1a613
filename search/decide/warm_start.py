"""A warm start: results of earlier searches of the same method, for the sampler of a new one (`--from DIR`)."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from seedwise.errors import RequestError
from seedwise.folder import LEDGER
from seedwise.search.decide.proposal import best_and_spread
from seedwise.search.ledger.file import read
from seedwise.search.ranking.estimator import Estimator
from seedwise.search.ranking.selection import Selection
from seedwise.spaces import config_id

MAX_CONFIGURATIONS = 100  # of one earlier search: the best half, and a spread of the other configurations


def read_earlier(folders: Sequence[Path], selection: Selection, method: str | dict) -> list[dict]:
    """The configurations of earlier searches, best first, as `{params, suggested, score}`.

    Scores are in standard deviations from the median of their search, since each search may use other data. The sampler
    ignores configurations outside the new space. An earlier search is refused if it was selected on labels of a
    language that is now a target: it would leak these labels.
    """
    best: dict[str, dict] = {}
    earlier = [configuration for folder in folders for configuration in _read(folder, selection, method)]
    for configuration in sorted(earlier, key=lambda configuration: -configuration["score"]):
        best.setdefault(config_id(configuration["params"]), configuration)
    return list(best.values())


def _read(folder: Path, selection: Selection, method: str | dict) -> Iterator[dict]:
    state = read(folder / LEDGER)
    if not state.search:
        raise RequestError(f"--from {folder}", "there is no search here")
    if state.method != method:
        problem = f"its method is {state.method}, but the method of this search is {method}"
        raise RequestError(f"--from {folder}", problem)
    chosen = Selection.from_specification(state.specification)
    used = set() if chosen.on == "unlabelled" else {name.rpartition("/")[2] for name in chosen.names}
    if not selection.oracle and (leaked := sorted(used & set(selection.targets))):
        raise RequestError(
            f"--from {folder}",
            f"it was selected on labels of {leaked[0]}, a target of this search",
            "Leave it out, or set select.on: target_dev (oracle).",
        )
    estimate = Estimator(chosen).estimate(state)
    if estimate is None:
        raise RequestError(f"--from {folder}", "none of its runs has finished")
    scores = (estimate.mean - np.median(estimate.mean)) / (np.std(estimate.mean) or 1.0)
    for index in best_and_spread(estimate.ranking, MAX_CONFIGURATIONS, MAX_CONFIGURATIONS // 2):
        configuration = state.configurations[estimate.ids[index]]
        known = {"params": configuration.params, "suggested": configuration.suggested}
        yield {**known, "score": round(float(scores[index]), 6)}
