"""Curves over replicates as numbers: bands, barriers, slopes, and what a slope explains. Pure arithmetic."""

from collections.abc import Sequence

import numpy as np

from seedwise.search.ranking.summary import summary
from seedwise.trainables.landscape.jobs import LINE_POINTS

KEPT = 0.9  # share of a model's score: around a flat minimum, at least this much is kept
NEAR = 0.1  # distance from 0: the slope at 0 is fitted to the points within it
LEAST_FLAT = 0.01  # change of the score: up to this it counts as flat, however little seeds differ
SIGMAS = 2.0  # standard deviations of the seeds: a change of the score up to this many counts as flat


def banded(curves: dict[int, list[float | None]]) -> dict:
    """Curves by replicate, with their mean, standard deviation and variance at every point.

    These leave out replicates that lack a point. With a single replicate, sd and variance are empty.
    """
    complete = np.array([curve for curve in curves.values() if None not in curve])
    several = len(complete) > 1
    # The variance of equal numbers is 0, even if their mean is rounded to another number.
    variance = np.where(np.ptp(complete, axis=0) > 0, complete.var(0, ddof=1), 0.0) if several else np.array([])
    return {
        "replicates": {str(replicate): curve for replicate, curve in curves.items()},
        "mean": complete.mean(0).tolist() if len(complete) else [],
        "sd": np.sqrt(variance).tolist(),
        "variance": variance.tolist(),
    }


def finding(target: str, source: dict, own: dict, positions: dict[int, float]) -> dict:
    """Summarise the line from source model to bilingual model for one target.

    `source` and `own` are the `banded` scores on source and target along the line. `positions` are the seeds' positions
    on it, by replicate. Numbers that need two replicates are None if there is a single replicate.
    """
    inside = [index for index, a in enumerate(LINE_POINTS) if 0 <= a <= 1]
    begin, end = inside[0], inside[-1]
    mean, sd = source["mean"], source["sd"]
    change = max((mean[index] - mean[begin] for index in inside), key=abs)
    curves = own["replicates"]
    rise = summary([curve[end] - curve[begin] for curve in curves.values()], bounds=(-1.0, 1.0))  # of scores up to 1
    slopes = summary([slope(LINE_POINTS, curve) for curve in curves.values()])
    zero_shot = {int(replicate): curve[begin] for replicate, curve in curves.items()}
    return {
        "target": target,
        "replicates": len(curves),
        "source_start": mean[begin],
        "source_end": mean[end],
        "source_change": change,
        "source_sd": sd[begin] if sd else None,
        "source_flat": abs(change) <= (max(LEAST_FLAT, SIGMAS * sd[begin]) if sd else LEAST_FLAT),
        "target_start": own["mean"][begin],
        "target_end": own["mean"][end],
        "rise": rise.mean,
        "rise_low": rise.ci_low,
        "rise_high": rise.ci_high,
        "rises": None if rise.ci_low is None else rise.ci_low > 0,
        "linearity": linearity([LINE_POINTS[index] for index in inside], [own["mean"][index] for index in inside]),
        "slope": slopes.mean,
        "slope_sd": slopes.sd,
        "source_slope": slope(LINE_POINTS, mean),
        "spread": own["sd"][begin] if own["sd"] else None,
        "displacement": float(np.std(list(positions.values()), ddof=1)) if len(positions) > 1 else None,
        "explained": explained(slopes.mean, positions, zero_shot),
    }


def barrier(points: Sequence[float], heights: Sequence[float | None]) -> float | None:
    """The largest rise of a curve above the straight line between its ends at 0 and 1; never below 0."""
    if None in heights:
        return None
    start, end = (heights[points.index(a)] for a in (0.0, 1.0))
    return max(
        0.0,
        *(height - ((1 - a) * start + a * end) for a, height in zip(points, heights, strict=True) if 0 <= a <= 1),
    )


def slope(points: Sequence[float], values: Sequence[float]) -> float:
    """The slope of a curve at 0 per unit of its axis, by least squares over the points within `NEAR`."""
    near = [(a, value) for a, value in zip(points, values, strict=True) if abs(a) <= NEAR]
    return float(np.polyfit(*zip(*near, strict=True), 1)[0])


def explained(slope: float, positions: dict[int, float], scores: dict[int, float]) -> float | None:
    """The share of the scores' variance over replicates that the slope explains; None if there is no variance.

    A replicate is expected to differ from the mean score by the slope times its distance from the mean position. The
    share is 1 if subtracting this leaves no variance, and 0 or less if it leaves as much or more.
    """
    replicates = [replicate for replicate in scores if replicate in positions]
    if len(replicates) < 2 or len({scores[replicate] for replicate in replicates}) == 1:
        return None
    actual, along = (np.array([values[replicate] for replicate in replicates]) for values in (scores, positions))
    actual, expected = actual - actual.mean(), slope * (along - along.mean())
    return 1 - float(((actual - expected) ** 2).sum()) / float((actual**2).sum())


def linearity(points: Sequence[float], values: Sequence[float]) -> float | None:
    """The share of a curve's variance that a straight line explains; None for a constant curve."""
    if np.ptp(values) == 0:
        return None
    return float(np.corrcoef(points, values)[0, 1] ** 2)


def flat_within(points: Sequence[float], shares: Sequence[float]) -> float | None:
    """The radius at which the share of the score, averaged over both sides of 0, falls below `KEPT`.

    Interpolated linearly between points; None if the share never falls that low.
    """
    by_radius: dict[float, list[float]] = {}
    for point, share in zip(points, shares, strict=True):
        by_radius.setdefault(abs(point), []).append(share)
    radius_before, share_before = 0.0, 1.0
    for radius in sorted(by_radius):
        share = float(np.mean(by_radius[radius]))
        if share < KEPT:
            return radius_before + (radius - radius_before) * (share_before - KEPT) / (share_before - share)
        radius_before, share_before = radius, share
    return None
