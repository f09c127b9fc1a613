"""The score that every finished run counts with: one rule for runs without a score, for all ranking and display.

A run that has a score counts with it, even if its model predicts a single class. A run that crashed, ran out of
memory or diverged has none: it counts as the worst possible score, which is 0 for all scores that cannot be negative.
Other scores have no natural worst one: see `worst_of`. It is taken among the method's runs or those of its baselines,
each in the search and in the confirmation, so that fresh seeds never change a score of the search.
"""

import math

import numpy as np

from seedwise.search.ledger.state import PRUNED, SEARCH, Configuration, Run, State
from seedwise.search.ranking.estimate import Table
from seedwise.search.ranking.selection import Selection
from seedwise.search.ranking.summary import NO_BOUNDS

Row = dict[int, float | None]  # scores of one configuration by replicate; None: the run has no value


def worst_of(lowest: float, highest: float, bounds: tuple[float, float] = NO_BOUNDS) -> float:
    """The value that a run without a score counts as, beside scores from `lowest` to `highest`.

    It is the lowest possible score, so that failing never makes a configuration better: the lower one of `bounds`, or 0
    if they are unknown. If a score is below that, it is as far below the lowest as the highest is above it.
    """
    floor = bounds[0] if math.isfinite(bounds[0]) else 0.0
    return floor if lowest >= floor else lowest - ((highest - lowest) or abs(lowest))


def counts(run: Run, configuration: Configuration) -> bool:
    """Whether a run is among the scores: it has finished, and is no pruned run of the method, which was shorter."""
    return run.finished and (bool(configuration.baseline) or run.status != PRUNED)


def lacks_score(run: Run, score: float | None, configuration: Configuration) -> bool:
    """Whether a finished run counts as `worst_of`. A baseline may lack the score that ranks without failing."""
    return run.failed or (score is None and not configuration.baseline)


def collapsed(run: Run, selection: Selection) -> bool:
    """Whether the model predicts a single class on a set whose score ranks, or its method says that it collapsed."""
    sets = (name.split("/") for name in selection.names if name.count("/") == 2)
    return run.collapsed or any(run.metrics.get(f"{split}/predicted_classes/{of}") == 1 for split, _, of in sets)


def scores_of(state: State, selection: Selection, phase: str = SEARCH) -> dict[str, Row]:
    """The scores that the runs of a phase count with: configuration id -> replicate -> score.

    The last score that a failed run reported is in its pool, so that failing late is never better than ending with
    that score. If no run of a pool has a score, all its scores are None.
    """
    configurations, table = state.configurations.values(), dict[str, Row]()
    for baselines in (False, True):
        pool = [config for config in configurations if bool(config.baseline) == baselines]
        runs = [(config, run) for config in pool for run in config.of_phase(phase) if counts(run, config)]
        scores = [selection.score(run.metrics) for _, run in runs]
        ends = [score for score in scores if score is not None]
        worst = worst_of(min(ends), max(ends), selection.bounds) if ends else None
        for (config, run), score in zip(runs, scores, strict=True):
            row = table.setdefault(config.config_id, {})
            row[run.replicate] = worst if lacks_score(run, score, config) else score
    return table


def known(row: Row) -> list[float]:
    """The scores of a row that are numbers."""
    return [score for score in row.values() if score is not None]


def table_of(state: State, selection: Selection) -> Table:
    """The scores of the search phase, as `estimate` takes them, without baselines and pruned configurations."""
    rows, configurations = scores_of(state, selection), state.configurations
    ids = tuple(key for key in rows if not (configurations[key].baseline or configurations[key].pruned))
    columns = sorted({replicate for config_id in ids for replicate in rows[config_id]})
    values = np.full((len(ids), len(columns)), np.nan)
    failed, fell = np.zeros(values.shape, dtype=bool), np.zeros(values.shape, dtype=bool)
    for index, config_id in enumerate(ids):
        for replicate, score in rows[config_id].items():
            run, cell = configurations[config_id].runs[replicate], (index, columns.index(replicate))
            values[cell] = np.nan if score is None else score
            fell[cell] = collapsed(run, selection)
            failed[cell] = lacks_score(run, selection.score(run.metrics), configurations[config_id])
    return Table(ids, values, failed, fell & ~failed)
