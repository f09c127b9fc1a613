"""What was tried and failed: every run without a score of its own, and what such runs have in common."""

from collections.abc import Callable, Iterator
from statistics import median

from seedwise.search.ledger.state import PRUNED, Run
from seedwise.search.ranking.leaderboard import single_class
from seedwise.search.ranking.results import Results

MOST = 100  # runs that are listed
LENGTH = 200  # letters of an error message
FEWEST = 3  # runs that a value must have before anything is said about it
APART = 0.5  # between the share of failures with a value and without: a smaller difference is not called clear


def failures(found: Results) -> list[dict]:
    """Runs that failed, were pruned, or predict a single class, in the order in which they ended."""
    runs = sorted((run for run in found.state.runs() if run.finished), key=lambda run: run.ended)
    rows = []
    for run in runs:
        kind = run.status if run.failed or run.status == PRUNED else _collapsed(run)
        if kind:
            params = found.state.configurations[run.config_id].params
            row = {"config_id": run.config_id, "replicate": run.replicate, "phase": run.phase, "kind": kind}
            error = " ".join(run.error.split())
            error = error if len(error) <= LENGTH else error[: LENGTH - 1] + "…"
            rows.append(row | {"error": error, "params": found.in_short(params), "seconds": run.seconds})
    return rows


def counted(runs: int) -> str:
    return f"{runs} run{'' if runs == 1 else 's'}"


def _collapsed(run: Run) -> str:
    languages = dict.fromkeys(place.rpartition("/")[2] for place in single_class(run.metrics))
    return f"one class: {', '.join(languages)}" if languages else ""


def in_common(found: Results) -> str:
    """The value of a parameter, or half of its range, with which runs fail far more often; empty where none is clear.

    Baselines are left out: they are other methods.
    """
    own = (one for one in found.state.configurations.values() if not one.baseline)
    runs = [(one.params, run.failed) for one in own for run in one.runs.values() if run.finished]
    clearest, told = APART, ""
    for words, holds in _groups(found.varying, [params for params, _ in runs]):
        inside = [failed for params, failed in runs if holds(params)]
        outside = [failed for params, failed in runs if not holds(params)]
        if min(len(inside), len(outside)) < FEWEST:
            continue
        apart = sum(inside) / len(inside) - sum(outside) / len(outside)
        if apart > clearest:
            clearest = apart
            told = (
                f"Of the runs with {words}, {sum(inside)} of {len(inside)} failed; of all others, "
                f"{sum(outside)} of {len(outside)}."
            )
    return told


def _groups(names: list[str], params: list[dict]) -> Iterator[tuple[str, Callable[[dict], bool]]]:
    """Every value of every parameter, numbers as two halves: in words, and as a question to a configuration."""
    for name in names:
        values = [one[name] for one in params if name in one]
        if values and all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
            middle = median(values)
            yield f"{name} above {middle:g}", lambda one, name=name, at=middle: name in one and one[name] > at
            yield f"{name} up to {middle:g}", lambda one, name=name, at=middle: name in one and one[name] <= at
            continue
        for value in dict.fromkeys(map(repr, values)):
            yield f"{name} = {value}", lambda one, name=name, value=value: name in one and repr(one[name]) == value
