"""Texts for captions and legends of a landscape's charts: names of models, measures and parts, and shared sentences."""

from collections.abc import Iterable

from seedwise.trainables.landscape.jobs import ALL, BOTH, ENCODER, HEAD, SOURCE, TARGET

SCORE, NORMALISED, LOSS = "score", "normalised", "loss"  # measures of a curve: keys of `landscape.json`
PARTS = {ALL: "all parameters", ENCODER: "encoder only", HEAD: "head only"}
RUNS = "runs (replicates by random directions)"  # curves around models are means over these
UNUSED = "nothing here is used to select a configuration."


def languages(numbers: dict, target: str, known: Iterable[str]) -> list[str]:
    """The `known` languages in the order that fixes their colours: the source, the target, then other targets."""
    known = set(known)
    order = dict.fromkeys((numbers["source"], target, *numbers["targets"]))
    return [language for language in order if language in known]


def titled(numbers: dict, language: str) -> str:
    """The title of a chart of one language."""
    return f"{language} ({'source' if language == numbers['source'] else 'target'})"


def model(numbers: dict, on: str, target: str) -> str:
    """The name of a trained model in sentences, by the languages that it was trained on."""
    return f"the model of {({SOURCE: numbers['source'], TARGET: target, BOTH: 'both'})[on]}"


def measure(numbers: dict, name: str) -> str:
    """The label of a measure on buttons and axes."""
    metric = numbers["metric"]
    return {SCORE: metric, NORMALISED: f"{metric}, relative to both", LOSS: "loss"}[name]


def counted(count: int, plural: str = "replicates") -> str:
    return f"{count} {plural.removesuffix('s') if count == 1 else plural}"


def averaged_over(curves: Iterable[dict], plural: str = "replicates") -> str:
    """How many replicates the curves average, such as `2 to 3 replicates` if runs of some curves failed."""
    counts = [sum(None not in values for values in curve["replicates"].values()) for curve in curves]
    few, many = min(counts), max(counts)
    return f"{'' if few == many else f'{few} to '}{counted(many, plural)}"


def mean_and_band(curves: Iterable[dict], plural: str = "replicates") -> str:
    """A sentence that says what the lines and the bands of a chart show."""
    curves = list(curves)
    if not any(curve["sd"] for curve in curves):
        return "From a single run, so without a band."
    return f"Lines are means over {averaged_over(curves, plural)}, bands one standard deviation either way."


def radius_in_words(radius: float | None, points: list[float]) -> str:
    """A radius as text. None means that the radius is larger than all `points`."""
    return f"more than {max(points):g}" if radius is None else f"{radius:.2f}"


def moved(numbers: dict, part: str, on: str, target: str) -> str:
    """A sentence that says which parameters are interpolated."""
    if part == ALL:
        return "All parameters are interpolated."
    return (
        f"Only the {part} is interpolated; the rest stays that of {model(numbers, on, target)}, so at 1 only the "
        f"{part} is that of the model of both."
    )


def analysis(target: str) -> str:
    """The caveat of charts whose models were trained on labels of a target."""
    return (
        f"On dev sets. The models of {target} and of both were trained on labels of {target}: this is an analysis, and "
        f"{UNUSED}"
    )
