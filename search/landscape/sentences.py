"""The findings of a landscape in sentences: whether the source is flat, whether the target rises, how steeply it rises
at the zero-shot point, and how much of the seeds' spread that slope explains."""

from seedwise.search.landscape.captions import radius_in_words
from seedwise.search.landscape.statistics import KEPT
from seedwise.text import number
from seedwise.trainables.landscape.jobs import ALL, SOURCE


def sentences(numbers: dict) -> list[str]:
    """Sentences on each target, on barriers between seeds, on radii around source models, and on failed runs."""
    texts = [_of_target(finding, numbers) for finding in numbers["findings"] if finding["replicates"]]
    if numbers["lines"] and ALL not in numbers["options"]["parts"]:
        texts.append("Whether the target rises is measured only if all parameters move: add all to landscape.parts.")
    texts += _between_seeds(numbers) + _around_source(numbers)
    if numbers["left_out"]:
        texts.append(f"Failed and left out ({len(numbers['left_out'])}), such as {numbers['left_out'][0]}.")
    return texts


def _of_target(finding: dict, numbers: dict) -> str:
    values = {name: number(value) for name, value in finding.items() if isinstance(value, float)}
    source, target, several = numbers["source"], finding["target"], finding["replicates"] > 1
    flat = "stays flat" if finding["source_flat"] else "is not flat"
    rises = {True: "rises", False: "does not rise for certain", None: "goes"}[finding["rises"]]
    rises = "falls" if several and finding["rise_high"] < 0 else rises
    sd = f", seeds' sd {values['source_sd']}" if several else ""
    interval = f", 95 % interval {values['rise_low']} to {values['rise_high']}" if several else ""
    straight = finding["linearity"]
    line = "" if straight is None else f", {100 * straight:.0f} % of that in a straight line"
    change = f"{number(abs(finding['source_change']))} {'lower' if finding['source_change'] < 0 else 'higher'}"
    shape = (
        f"{target}: from the model of {source} to the one of both languages, {source} {flat} "
        f"({values['source_start']} to {values['source_end']}, at most {change} on the way{sd}), and {target} {rises} "
        f"from {values['target_start']} to {values['target_end']} (by {values['rise']}{interval}){line}. At the "
        f"zero-shot point {target} rises {values['slope']} per unit of interpolation, {source} "
        f"{values['source_slope']}."
    )
    if finding["explained"] is None:
        why = "they do not differ" if finding["spread"] == 0 else "the models of two replicates are needed"
        why = why if several else "a single replicate has no spread"
        return f"{shape} How much of the seeds' spread this slope explains is unknown: {why}."
    share = f"{100 * finding['explained']:.0f} %" if finding["explained"] > 0 else "none"
    return (
        f"{shape} Along that line seeds differ by {values['displacement']} in position (sd) and by {values['spread']} "
        f"in {target} (sd): the slope explains {share} of the variance between seeds ({finding['replicates']} "
        "replicates)."
    )


def _between_seeds(numbers: dict) -> list[str]:
    """A sentence on the highest barriers between two seeds by language, in the score and in the more sensitive loss."""
    score, loss = (
        ", ".join(f"{number(height)} in {language}" for language, height in _highest(numbers, kind).items())
        for kind in ("barrier", "loss_barrier")
    )
    if not score:
        return []
    more = f", and the loss rises above it by at most {loss}" if loss else ""
    return [
        f"Between the source models of two seeds, {numbers['metric']} falls below the straight line between its ends "
        f"by at most {score}{more}."
    ]


def _highest(numbers: dict, kind: str) -> dict[str, float]:
    highest: dict[str, float] = {}
    for line in numbers["seeds"]:
        for language, curve in line["curves"].items():
            if curve[kind] is not None:
                highest[language] = max(highest.get(language, 0.0), curve[kind])
    return highest


def _around_source(numbers: dict) -> list[str]:
    """Sentences on how far source models can be moved at random and still keep the share `KEPT` of their score."""
    texts = []
    for around in numbers["around"]:
        radii = " and ".join(
            f"{radius_in_words(around['radius'][language], around['points'])} in {language}"
            for language, kept in around["kept"].items()
            if kept["mean"]
        )
        if around["on"] == SOURCE and radii:
            which = f"the model of {numbers['source']}" + (f" for {around['target']}" if around["target"] else "")
            kept = f"{100 * KEPT:.0f} % of its {numbers['metric']}"
            texts.append(f"Moved in random directions, {which} keeps {kept} within a radius of {radii}.")
    return texts
