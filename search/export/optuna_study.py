"""Exports a search to a file with an Optuna study, for optuna-dashboard and Optuna's other tools.

Each configuration is a trial. Its value is the estimate that ranks it; its intermediate values are the scores of its
replicates. Baselines are left out, because they are not in the space.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from seedwise.errors import RequestError
from seedwise.search.ledger.state import PRUNED, SEARCH, Configuration
from seedwise.search.ranking.results import Results
from seedwise.search.ranking.selection import Selection
from seedwise.spaces import Space

if TYPE_CHECKING:
    from optuna.storages import RDBStorage
    from optuna.trial import FrozenTrial

VALUE = "the estimate that ranks: the posterior mean over replicates"
STEPS = "the score of each replicate of the search; a failed replicate has the score that it counts as"


def write_study(results: Results, path: Path) -> None:
    """Write the search to `path`, a new SQLite file; an existing file is refused.

    Configurations without a finished run are left out, as in the leaderboard.
    """
    import optuna

    from seedwise.search.decide.proposal import quiet

    if path.exists():
        raise RequestError(f"--optuna {path}", "this file exists already", "Name another file, or delete it first.")
    search = results.state.search
    attributes = {"selected_by": results.selection.label, "value": VALUE, "intermediate values": STEPS}
    attributes |= {"search_id": search["search_id"]}
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.touch()
    except OSError as error:
        raise RequestError(f"--optuna {path}", error.strerror, "Name a file that can be written.") from error
    try:
        with quiet(), _storage(partial) as storage:
            study = optuna.create_study(storage=storage, study_name=search["name"], direction="maximize")
            for key, value in attributes.items():
                study.set_user_attr(key, value)
            study.add_trials(trials(results))
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def trials(results: Results) -> list["FrozenTrial"]:
    """A trial for every configuration with a finished run, in the order of their proposal."""
    space, scores = results.load_space(), results.scores(SEARCH)
    rows = {row["config_id"]: row for row in results.leaderboard if not row["baseline"]}
    configurations = results.state.configurations
    return [
        _trial(configurations[config_id], rows[config_id], scores.get(config_id, {}), space, results.selection)
        for config_id in sorted(rows, key=lambda config_id: configurations[config_id].ask)
    ]


def _trial(
    configuration: Configuration, row: dict, scores: dict[int, float], space: Space, selection: Selection
) -> "FrozenTrial":
    from optuna.trial import TrialState, create_trial

    from seedwise.search.decide.proposal import point_of

    fixed = point_of(space, configuration.suggested or configuration.params)
    attributes = {
        "config_id": row["config_id"],
        "parameters": row["params"],
        "status": row["status"],
        "n": row["replicates"],
        "failed": row["failed"],
        **{name: row[name] for name in ("mean", "sd", "ci_low", "ci_high")},
        **{name: row[name] if row["replicated"] else None for name in ("p_best", "tied")},  # None: unknown
        "fresh_mean": row["fresh"]["mean"] if row["fresh"] else None,
        "in_space": fixed is not None,  # False for some enqueued ones, which then have no parameters in Optuna
    }
    if row["status"] == PRUNED:
        own = {run.replicate: selection.score(run.metrics) for run in configuration.runs.values()}
        scores = {replicate: score for replicate, score in own.items() if score is not None}
        outcome = {"state": TrialState.PRUNED}
    elif row["failed"] == row["replicates"]:
        scores, outcome = {}, {"state": TrialState.FAIL}  # there is no measured score
    else:
        outcome = {"state": TrialState.COMPLETE, "value": row["estimate"]}
    return create_trial(
        **outcome,
        params=fixed.params if fixed else {},
        distributions=fixed.distributions if fixed else {},
        user_attrs=attributes,
        intermediate_values=scores,
    )


@contextlib.contextmanager
def _storage(path: Path) -> Iterator["RDBStorage"]:
    from optuna.storages import RDBStorage

    storage = RDBStorage(f"sqlite:///{path.absolute()}")
    try:
        yield storage
    finally:
        storage.remove_session()
        storage.engine.dispose()
