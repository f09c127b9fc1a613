"""What captions and legends of a landscape's charts say: names of models, measures and parts, and common sentences."""

from collections.abc import Iterable

from seedwise.trainables.landscape.jobs import ALL, BOTH, ENCODER, HEAD, SOURCE, TARGET

SCORE, NORMALISED, LOSS = "score", "normalised", "loss"  # measures of a curve, as the numbers have them
PARTS = {ALL: "all parameters", ENCODER: "encoder only", HEAD: "head only"}
RUNS = "runs (replicates by random directions)"  # that curves around models are means over
UNUSED = "nothing here selects anything."


def languages(numbers: dict, target: str, known: Iterable[str]) -> list[str]:
    """The known languages, the source first, then the target: a language's colour depends on its rank."""
    known = set(known)
    order = dict.fromkeys((numbers["source"], target, *numbers["targets"]))
    return [language for language in order if language in known]


def titled(numbers: dict, language: str) -> str:
    """The title of a chart of one language."""
    return f"{language} ({'source' if language == numbers['source'] else 'target'})"


def model(numbers: dict, on: str, target: str) -> str:
    """A trained model in words, by what it was trained on."""
    return f"the model of {({SOURCE: numbers['source'], TARGET: target, BOTH: 'both'})[on]}"


def measure(numbers: dict, name: str) -> str:
    """A measure in words, for buttons and axes."""
    metric = numbers["metric"]
    return {SCORE: metric, NORMALISED: f"{metric}, relative to both", LOSS: "loss"}[name]


def counted(count: int, plural: str = "replicates") -> str:
    return f"{count} {plural.removesuffix('s') if count == 1 else plural}"


def averaged_over(curves: Iterable[dict], plural: str = "replicates") -> str:
    """How many replicates these curves are means of, in words. Where runs failed, some are means of fewer."""
    counts = [sum(None not in values for values in curve["replicates"].values()) for curve in curves]
    few, many = min(counts), max(counts)
    return f"{'' if few == many else f'{few} to '}{counted(many, plural)}"


def mean_and_band(curves: Iterable[dict], plural: str = "replicates") -> str:
    """A sentence that says what the lines and the bands of a chart show."""
    curves = list(curves)
    if not any(curve["sd"] for curve in curves):
        return "Of one run, and so without a band."
    return f"Lines are means over {averaged_over(curves, plural)}, bands one standard deviation either way."


def radius_in_words(radius: float | None, points: list[float]) -> str:
    """None is a radius that the points do not reach."""
    return f"more than {max(points):g}" if radius is None else f"{radius:.2f}"


def moved(numbers: dict, part: str, on: str, target: str) -> str:
    """Which parameters a line moves, as a sentence."""
    if part == ALL:
        return "All parameters are interpolated."
    return (
        f"Only the {part} is interpolated, the rest stays that of {model(numbers, on, target)}: at 1 only the {part} "
        "is that of both."
    )


def analysis(target: str) -> str:
    """The caveat of every chart that shows models trained on labels of a target."""
    return (
        f"On dev sets. The models of {target} and of both were trained on labels of {target}: this is an analysis, and "
        f"{UNUSED}"
    )
