"""Curves over replicates as numbers: bands, barriers, slopes, and what a slope explains. Pure arithmetic."""

from collections.abc import Sequence

import numpy as np

KEPT = 0.9  # the share of a score whose loss ends what counts as flat around a model
NEAR = 0.1  # of a line: where the slope at its beginning is measured


def banded(curves: dict[int, list[float | None]]) -> dict:
    """Curves by replicate with their mean, standard deviation and variance at every point; those of one replicate, or
    of none, have no spread. A replicate that lacks a point counts in none of these."""
    whole = [curve for curve in curves.values() if None not in curve]
    found = {"replicates": {str(replicate): curve for replicate, curve in curves.items()}}
    values = np.array(whole)
    found["mean"] = values.mean(0).tolist() if whole else []
    # Replicates that agree have no variance, though the mean of three equal numbers may round to another one.
    variance = np.where(np.ptp(values, axis=0) > 0, values.var(0, ddof=1), 0.0) if len(whole) > 1 else np.array([])
    return found | {"sd": np.sqrt(variance).tolist(), "variance": variance.tolist()}


def barrier(points: Sequence[float], heights: Sequence[float | None]) -> float | None:
    """How far a curve rises above the straight line between its ends at 0 and 1, at most; never below 0."""
    if None in heights:
        return None
    ends = [heights[points.index(end)] for end in (0.0, 1.0)]
    above = [
        height - ((1 - a) * ends[0] + a * ends[1]) for a, height in zip(points, heights, strict=True) if 0 <= a <= 1
    ]
    return max(0.0, *above)


def slope(points: Sequence[float], values: Sequence[float]) -> float:
    """Of the line that fits a curve best near 0, per unit of its axis."""
    near = [place for place, a in enumerate(points) if abs(a) <= NEAR]
    return float(np.polyfit([points[place] for place in near], [values[place] for place in near], 1)[0])


def explained(slope: float, along: dict[int, float], scores: dict[int, float]) -> float | None:
    """How much of the scores' variance over replicates is gone once the slope has been taken out of it.

    Each replicate is expected to differ from the mean by the slope times how far it lies from the others along the way.
    1: nothing is left; 0 or less: as much is left as before, or more. None where there is no variance.
    """
    both = [replicate for replicate in scores if replicate in along]
    if len(both) < 2 or len({scores[replicate] for replicate in both}) == 1:
        return None
    actual, places = (np.array([of[replicate] for replicate in both]) for of in (scores, along))
    actual, expected = actual - actual.mean(), slope * (places - places.mean())
    return 1 - float(((actual - expected) ** 2).sum()) / float((actual**2).sum())


def linearity(points: Sequence[float], values: Sequence[float]) -> float | None:
    """The share of a curve's variance that a straight line has; None for a curve that does not vary."""
    if np.ptp(values) == 0:
        return None
    return float(np.corrcoef(points, values)[0, 1] ** 2)


def flat_within(points: Sequence[float], shares: Sequence[float]) -> float | None:
    """How far one can go from 0, on both sides alike, until the mean share of the score falls below `KEPT`.

    Between points along straight lines; None where it does not fall that low.
    """
    by_radius: dict[float, list[float]] = {}
    for point, share in zip(points, shares, strict=True):
        by_radius.setdefault(abs(point), []).append(share)
    before = (0.0, 1.0)
    for radius in sorted(by_radius):
        now = float(np.mean(by_radius[radius]))
        if now < KEPT:
            return before[0] + (radius - before[0]) * (before[1] - KEPT) / (before[1] - now)
        before = (radius, now)
    return None
