"""What the charts of a landscape have in common: names, colours, and sentences of captions."""

from collections.abc import Iterable

from seedwise.search.drawing.chart import BLUE, GREEN, ORANGE, RED
from seedwise.search.drawing.svg import PALETTE
from seedwise.trainables.landscape.jobs import ALL, BOTH, ENCODER, HEAD, SOURCE, TARGET

SCORE, NORMALISED, LOSS = "score", "normalised", "loss"  # measures of a curve, as the numbers have them
COLOURS = (BLUE, RED, GREEN, PALETTE[3], ORANGE)  # of the source, the target, others; no black, for dark pages
SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross")  # for whoever does not see these colours
RUNS = "runs (replicates by random directions)"  # that curves around models are means over
PARTS = {ALL: "all parameters", ENCODER: "encoder only", HEAD: "head only"}


def languages(numbers: dict, target: str, known: Iterable[str]) -> list[str]:
    """Those that are known, the source first, then the target: a place in this order has a colour."""
    first, there = [numbers["source"], target] if target else [numbers["source"]], set(known)
    return [one for one in dict.fromkeys((*first, *numbers["targets"])) if one in there]


def titled(numbers: dict, language: str) -> str:
    """The title of a chart of one language."""
    return f"{language} ({'source' if language == numbers['source'] else 'target'})"


def model(numbers: dict, on: str, target: str) -> str:
    """A trained model in words, by what it was trained on."""
    trained_on = {SOURCE: numbers["source"], TARGET: target, BOTH: "both"}
    return f"the model of {trained_on[on]}"


def measure(numbers: dict, name: str) -> str:
    """What is measured, as a reader chooses it and as an axis is named."""
    metric = numbers["metric"]
    return {SCORE: metric, NORMALISED: f"{metric}, relative to both", LOSS: "loss"}[name]


def counted(count: int, plural: str = "replicates") -> str:
    return f"{count} {plural.removesuffix('s') if count == 1 else plural}"


def whole(banded: dict) -> int:
    """Over how many replicates the mean is: one that lacks a point does not count."""
    return sum(None not in curve for curve in banded["replicates"].values())


def mean_of(curves: Iterable[dict], plural: str = "replicates") -> str:
    """What lines with bands are, as a sentence. Where runs failed, some are means over fewer."""
    known = list(curves)
    if not any(one["sd"] for one in known):
        return "Of one run, and so without a band."
    return f"Lines are means over {over(known, plural)}, bands one standard deviation either way."


def over(curves: Iterable[dict], plural: str = "replicates") -> str:
    """Of how many these curves are means, in words."""
    counts = [whole(one) for one in curves]
    few, many = min(counts), max(counts)
    return f"{'' if few == many else f'{few} to '}{counted(many, plural)}"


def far(radius: float | None, points: list[float]) -> str:
    """A radius in words; None is one that the points do not reach."""
    return f"more than {max(points):g}" if radius is None else f"{radius:.2f}"


def targets_of(points: Iterable[dict]) -> list[str]:
    """The targets whose models these points are around; an empty one where all models are of all targets."""
    return [one for one in dict.fromkeys(one["target"] for one in points) if one] or [""]


def moved(numbers: dict, part: str, on: str, target: str) -> str:
    """Which parameters a line moves, as a sentence."""
    if part == ALL:
        return "All parameters are interpolated."
    return (
        f"Only the {part} is interpolated, the rest stays that of {model(numbers, on, target)}: at 1 only the {part} "
        "is that of both."
    )


def analysis(target: str) -> str:
    """What must be said wherever models of a target's labels are shown."""
    return (
        f"On dev sets. The models of {target} and of both were trained on labels of {target}: this is an analysis, and "
        "nothing here selects anything."
    )


def span(values: Iterable[float]) -> list[float]:
    """The range of an axis that shows all these values."""
    known = list(values)
    low, high = min(known), max(known)
    margin = 0.06 * (high - low) or 0.05 * abs(high) or 1.0
    return [low - margin, high + margin]


def edges(banded: dict) -> tuple[list[float], list[float]]:
    """The lower and the upper edge of a band; the mean itself where there is no spread."""
    spread = banded["sd"] or [0.0] * len(banded["mean"])
    pairs = list(zip(banded["mean"], spread, strict=True))
    return [mean - sd for mean, sd in pairs], [mean + sd for mean, sd in pairs]
