"""Landscape numbers made by hand, for tests of charts and pages: simple curves with known values."""

import statistics
from collections.abc import Callable, Sequence

POINTS = [-0.5, 0.0, 0.25, 0.5, 1.0, 1.5]
AXIS = [-0.5, 0.0, 0.5, 1.0, 1.5]
RADII = [-0.5, -0.25, 0.0, 0.25, 0.5]
MODELS = ("source", "target", "both")


def score(on: str, part: str, replicate: int, a: float, own: bool) -> float:
    """On a line: the source is flat, the target (`own`) rises; replicates and parts are apart by a little."""
    rise = {"all": 0.2, "encoder": 0.15, "head": 0.02}[part]
    level = 0.6 + rise * a if own else 0.8 - 0.01 * a * a
    return level + 0.01 * replicate * (1 - a / 2) + (0.005 if on == "target" else 0.0)


def height(part: str, replicate: int, x: float, y: float, own: bool) -> float:
    """On a plane."""
    return 0.8 - (0.2 if own else 0.02) * x - 0.05 * y + 0.01 * replicate - (0.1 if part == "encoder" else 0) * x * y


def bilingual(replicate: int, own: bool) -> float:
    return (0.8 if own else 0.75) + 0.01 * replicate


def share(on: str, run: int, radius: float, own: bool) -> float:
    """Around a model: the source's is the narrowest."""
    return 1 - (0.5 if own else 0.25) * abs(radius) * {"source": 2, "target": 1, "both": 0.5}[on] * (1 + run / 10)


def banded(curves: dict[int, list[float | None]]) -> dict:
    whole = [curve for curve in curves.values() if None not in curve]
    columns = list(zip(*whole, strict=True))
    several = len(whole) > 1
    return {
        "replicates": {str(replicate): curve for replicate, curve in curves.items()},
        "mean": [statistics.mean(column) for column in columns],
        "sd": [statistics.stdev(column) for column in columns] if several else [],
        "variance": [statistics.variance(column) for column in columns] if several else [],
    }


def made(
    *,
    targets: Sequence[str] = ("tl", "um"),
    replicates: int = 3,
    parts: Sequence[str] = ("all", "encoder", "head"),
    planes: Sequence[str] = ("all", "encoder"),
    directions: int = 2,
    labels: bool = True,
    shared: bool = False,
    lossless: bool = False,
) -> dict:
    """The content of `landscape.json`. `shared`: one source model serves all targets; `lossless`: a loss is missing."""
    every = range(replicates)
    sharing = [""] if shared else list(targets)
    known = MODELS if labels else MODELS[:1]

    def languages(target: str) -> list[str]:
        return ["so", target] if target else ["so", *targets]

    def curves(of: Callable[[int, float, bool], float], target: str, points: list[float]) -> dict:
        by_language = {}
        for language in languages(target):
            own = language != "so"
            scores = {r: [of(r, a, own) for a in points] for r in every}
            over = {r: [value / bilingual(r, own) for value in curve] for r, curve in scores.items()}
            losses = {
                r: [None if lossless and r == 0 and a == 0 else 1 - v for a, v in zip(points, c, strict=True)]
                for r, c in scores.items()
            }
            by_language[language] = {"score": banded(scores), "normalised": banded(over), "loss": banded(losses)}
        return by_language

    lines = [
        {"part": part, "on": on, "target": target, "points": POINTS}
        | {"curves": curves(lambda r, a, own, on=on, part=part: score(on, part, r, a, own), target, POINTS)}
        for part in parts
        for target in targets
        for on in ("source", "target")
    ]
    seeds = [
        {"target": target, "replicates": [earlier, other], "points": POINTS}
        | {
            "curves": {
                language: {"score": (dip := [0.8 - 0.01 * other * (a * (1 - a)) for a in POINTS])}
                | {"loss": [1 - value for value in dip], "barrier": 0.0025 * other, "loss_barrier": 0.0025 * other}
                for language in languages(target)
            }
        }
        for target in sharing
        for other in every
        for earlier in range(other)
    ]
    around = []
    for on in known if directions else ():
        for target in sharing if on == "source" else targets:
            kept, radius = {}, {}
            for language in languages(target):
                own = language != "so"
                runs = range(directions * replicates)
                kept[language] = banded({run: [share(on, run, r, own) for r in RADII] for run in runs})
                radius[language] = 0.123 if on == "source" and own else None
            around.append({"on": on, "target": target, "points": RADII, "kept": kept, "radius": radius})
    surfaces = [
        {"part": part, "target": target, "replicate": 0, "axis": AXIS}
        | {
            "scores": {
                language: [[height(part, 0, x, y, language != "so") for x in AXIS] for y in AXIS]
                for language in languages(target)
            }
        }
        | {"bilingual": {language: height(part, 0, 0.0, 0.0, language != "so") for language in languages(target)}}
        for part in planes
        for target in targets
    ]
    models = [
        {"on": on, "target": target, "replicate": replicate, "file": f"models/{on}-{replicate}.safetensors"}
        | {"scores": {language: bilingual(replicate, language != "so") for language in languages(target)}}
        for on in ("initial", *known)
        for target in (sharing if on in ("initial", "source") else targets)
        for replicate in every
    ]
    directed = [
        {
            "target": target,
            "replicate": replicate,
            "source_norm": 3.0,
            "target_norm": 4.0,
            "ratio": 0.75,
            "angle": 56.78,
        }
        | {"from_initial": {"source": 5.0, "target": 6.0, "both": 7.25}}
        for target in targets
        for replicate in every
    ]
    options = {"replicates": replicates, "labels": labels, "parts": list(parts), "directions": directions}
    return {
        "name": "made-landscape",
        "method": "stitching",
        "baseline": None,
        "params": {"lr": 0.002, "weighting": "softmax"},
        "metric": "macro_f1",
        "source": "so",
        "targets": list(targets),
        "options": options,
        "left_out": [],
        "models": models,
        "directions": directed if labels else [],
        "lines": lines if labels else [],
        "planes": surfaces if labels else [],
        "seeds": seeds,
        "around": around,
        "findings": [{"target": target, "replicates": replicates if labels else 0} for target in targets],
        "sentences": ["so stays flat, tl rises.", "Between seeds it falls by at most 0.005."],
    }
