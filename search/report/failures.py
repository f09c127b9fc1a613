"""Lists the runs that failed, were pruned or predict a single class, and finds what failed runs have in common."""

from collections.abc import Callable, Iterator
from statistics import median

from seedwise.search.ledger.state import PRUNED, Run
from seedwise.search.ranking.leaderboard import single_class
from seedwise.search.ranking.results import Results

LISTED = 100  # runs
ERROR_LENGTH = 200  # characters
FEWEST_RUNS = 3  # that a value must have to be reported
CLEAR = 0.5  # least difference between the failure rates with and without a value


def failures(results: Results) -> list[dict]:
    """Runs that failed, were pruned, or predict a single class, in the order in which they ended."""
    rows = []
    for run in sorted((run for run in results.state.runs() if run.finished), key=lambda run: run.ended):
        if kind := run.status if run.failed or run.status == PRUNED else _collapsed(run):
            params = results.state.configurations[run.config_id].params
            error = " ".join(run.error.split())
            error = error if len(error) <= ERROR_LENGTH else error[: ERROR_LENGTH - 1] + "…"
            row = {"config_id": run.config_id, "replicate": run.replicate, "phase": run.phase, "kind": kind}
            rows.append(row | {"error": error, "params": results.in_short(params), "seconds": run.seconds})
    return rows


def count_runs(runs: int) -> str:
    return f"{runs} run{'' if runs == 1 else 's'}"


def _collapsed(run: Run) -> str:
    languages = dict.fromkeys(name.rpartition("/")[2] for name in single_class(run))
    return f"one class: {', '.join(languages)}" if languages else ""


def in_common(results: Results) -> str:
    """A sentence on the parameter value or half of a range with which far more runs fail; empty if none is clear.

    Baselines are left out: they are other methods.
    """
    own = [configuration for configuration in results.state.configurations.values() if not configuration.baseline]
    runs = [
        (configuration.params, run.failed)
        for configuration in own
        for run in configuration.runs.values()
        if run.finished
    ]
    clearest, sentence = CLEAR, ""
    for words, holds in _conditions(results.varying, [params for params, _ in runs]):
        inside = [failed for params, failed in runs if holds(params)]
        outside = [failed for params, failed in runs if not holds(params)]
        if min(len(inside), len(outside)) < FEWEST_RUNS:
            continue
        difference = sum(inside) / len(inside) - sum(outside) / len(outside)
        if difference > clearest:
            clearest = difference
            sentence = (
                f"Of the runs with {words}, {sum(inside)} of {len(inside)} failed; of all others, "
                f"{sum(outside)} of {len(outside)}."
            )
    return sentence


def _conditions(names: list[str], params: list[dict]) -> Iterator[tuple[str, Callable[[dict], bool]]]:
    """Conditions on parameters, in words and as predicates: numbers above and up to the median, other values each."""
    for name in names:
        values = [given[name] for given in params if name in given]
        if values and all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
            middle = median(values)
            yield f"{name} above {middle:g}", lambda given, name=name, at=middle: name in given and given[name] > at
            yield f"{name} up to {middle:g}", lambda given, name=name, at=middle: name in given and given[name] <= at
            continue
        for value in dict.fromkeys(map(repr, values)):
            yield f"{name} = {value}", lambda given, name=name, at=value: name in given and repr(given[name]) == at
