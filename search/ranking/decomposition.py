"""How much of the spread over seeds each stream of randomness causes: streams vary alone, then all together."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from scipy.special import chdtri

from seedwise.search.ranking.results import Results
from seedwise.search.ranking.summary import NO_BOUNDS, bounds_of

ALL = "all"  # the key of replicates in which all streams vary
SCORE = "score"  # the key of the score that ranks, beside metrics such as dev/macro_f1/fra_Latn
CONFIDENCE = 0.95
FEWEST = 3  # replicates behind a share


def tables(results: Results) -> dict[str, list[dict]]:
    """The rows of `decompose` for the score that ranks, and for its metric in every split and language.

    The score comes first, then the dev sets in the order of the task, then the test sets. Streams have the same order
    in every table. Beside `n`, the runs that count, a row has `of`, the runs that have ended: failed runs do not count.
    """
    scores, ended = _scores(results)
    bounds = {name: results.selection.bounds if name == SCORE else bounds_of(name) for name in scores}
    known = {name: decompose(by_stream, bounds[name]) for name, by_stream in scores.items()}
    order = {row["stream"]: place for place, row in enumerate(known[SCORE])}
    return {
        name: sorted((row | {"of": ended[row["stream"]]} for row in rows), key=lambda row: order[row["stream"]])
        for name, rows in known.items()
    }


def points(results: Results) -> dict[str, float]:
    """The standard deviations and shares as metrics for trackers: `decomposition/sd/dev/macro_f1/fra_Latn/order`.

    The replicates in which all streams vary have no share: it would be 1.
    """
    rows = [(name, row) for name, table in tables(results).items() for row in table]
    sds = {f"decomposition/sd/{name}/{row['stream']}": row["sd"] for name, row in rows}
    shares = {f"decomposition/share/{name}/{row['stream']}": row["share"] for name, row in rows if row["stream"] != ALL}
    return {name: value for name, value in (sds | shares).items() if value is not None}


def decompose(scores: Mapping[str, Sequence[float]], bounds: tuple[float, float] = NO_BOUNDS) -> list[dict]:
    """One row per stream from its scores over replicates: `all` first, then by decreasing spread.

    A row is {stream, sd, variance, share, ci_low, ci_high, n}. `share` is the variance divided by the variance of
    `all`, or None if that is zero or missing, or if either is of two replicates, whose variances say next to nothing;
    it can exceed 1, since `all` is an estimate too. `ci_low` and `ci_high` are the 95 % chi-square interval of the sd,
    exact for normal scores; it ends at the largest sd that scores within `bounds` can have. With one replicate all of
    these are None.
    """
    rows = [_row(stream, values, (bounds[1] - bounds[0]) / 2) for stream, values in scores.items()]
    rows.sort(key=lambda row: (row["stream"] != ALL, -(row["variance"] or 0.0)))
    whole = rows[0]["variance"] if rows and rows[0]["stream"] == ALL and rows[0]["n"] >= FEWEST else None
    return [row | {"share": row["variance"] / whole if whole and row["n"] >= FEWEST else None} for row in rows]


def _row(stream: str, values: Sequence[float], largest: float) -> dict:
    n, variance, low, high = len(values), None, None, None
    if n > 1:
        # Equal scores have no variance, but rounding of their mean would give them one.
        variance = float(np.var(values, ddof=1)) if np.ptp(values) > 0 else 0.0
        tails = chdtri(n - 1, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
        low, high = np.sqrt((n - 1) * variance / tails).tolist()
        high = max(min(high, largest), variance**0.5)
    sd = None if variance is None else variance**0.5
    return {"stream": stream, "sd": sd, "variance": variance, "share": None, "ci_low": low, "ci_high": high, "n": n}


def _scores(results: Results) -> tuple[dict[str, dict[str, list[float]]], dict[str, int]]:
    """The scores by metric and stream, and the number of runs that have ended by stream."""
    selection, ended = results.selection, {}
    scores: dict[str, dict[str, list[float]]] = {SCORE: {}}
    for configuration in results.state.configurations.values():
        runs, stream = [run for run in configuration.runs.values() if run.finished], configuration.vary or ALL
        whole, ended[stream] = [run for run in runs if not run.failed], len(runs)
        ranking = (selection.score(run.metrics) for run in whole)
        scores[SCORE][stream] = [score for score in ranking if score is not None]
        for name, value in (item for run in whole for item in run.metrics.items()):
            if language_of(name, results.metric) and math.isfinite(value):
                scores.setdefault(name, {}).setdefault(stream, []).append(value)
    languages = results.languages(language_of(name, results.metric) for name in scores if name != SCORE)
    by_split = sorted(
        scores.keys() - {SCORE}, key=lambda name: (name.split("/")[0], languages.index(name.split("/")[2]))
    )
    return {name: {stream: scores[name].get(stream, []) for stream in ended} for name in (SCORE, *by_split)}, ended


def language_of(name: str, metric: str) -> str:
    """The language of a metric's name such as `dev/macro_f1/fra_Latn`; empty if `name` is another metric."""
    parts = name.split("/")
    return parts[2] if len(parts) == 3 and parts[1] == metric else ""
