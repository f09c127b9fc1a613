"""What a landscape found, in sentences: is the source flat, does the target rise, how steep is it where zero-shot ends
up, and how much of the seeds' spread that explains."""

from seedwise.search.landscape.looks import far
from seedwise.search.landscape.statistics import KEPT
from seedwise.text import number
from seedwise.trainables.landscape.jobs import ALL, SOURCE


def sentences(numbers: dict) -> list[str]:
    """The finding, target by target, and what lies between seeds."""
    found = []
    for finding in numbers["findings"]:
        found += of_target(finding, numbers) if finding["replicates"] else []
    if numbers["lines"] and ALL not in numbers["options"]["parts"]:
        found.append("Whether the target rises is told where the whole model moves: add all to landscape.parts.")
    found += between_seeds(numbers) + around_source(numbers)
    if numbers["left_out"]:
        found.append(f"Failed and left out ({len(numbers['left_out'])}), such as {numbers['left_out'][0]}.")
    return found


def of_target(finding: dict, numbers: dict) -> list[str]:
    source, target, several = numbers["source"], finding["target"], finding["replicates"] > 1
    flat = "stays flat" if finding["source_flat"] else "is not flat"
    sd = f", seeds' sd {number(finding['source_sd'])}" if several else ""
    rises = {True: "rises", False: "does not rise for certain", None: "goes"}[finding["rises"]]
    rises = "falls" if several and finding["rise_high"] < 0 else rises
    interval = f", 95 % interval {number(finding['rise_low'])} to {number(finding['rise_high'])}" if several else ""
    straight = finding["linearity"]
    line = "" if straight is None else f", {100 * straight:.0f} % of that in a straight line"
    first = (
        f"{target}: from the model of {source} to the one of both languages, {source} {flat} "
        f"({number(finding['source_start'])} to {number(finding['source_end'])}, "
        f"at most {number(abs(finding['source_change']))} {'lower' if finding['source_change'] < 0 else 'higher'} "
        f"on the way{sd}), and {target} {rises} from "
        f"{number(finding['target_start'])} to {number(finding['target_end'])} "
        f"(by {number(finding['rise'])}{interval}){line}."
    )
    steep = (
        f"At the zero-shot point {target} rises {number(finding['slope'])} per unit of interpolation, {source} "
        f"{number(finding['source_slope'])}."
    )
    if finding["explained"] is None:
        why = "they do not differ" if finding["spread"] == 0 else "the models of two replicates are needed"
        why = why if several else "one replicate shows none"
        return [f"{first} {steep} How much of the seeds' spread that explains cannot be told: {why}."]
    share = f"{100 * finding['explained']:.0f} %" if finding["explained"] > 0 else "none"
    return [
        f"{first} {steep} Seeds lie {number(finding['displacement'])} of the way apart along it (sd), and differ by "
        f"{number(finding['spread'])} in {target} (sd): that slope explains {share} of the variance between them "
        f"({finding['replicates']} replicates)."
    ]


def between_seeds(numbers: dict) -> list[str]:
    """The highest barriers between two seeds, by language: of the score, and of the loss, which sees more."""
    told = []
    for kind in ("barrier", "loss_barrier"):
        highest: dict[str, float] = {}
        for language, curve in ((key, of) for one in numbers["seeds"] for key, of in one["curves"].items()):
            if curve[kind] is not None:
                highest[language] = max(highest.get(language, 0.0), curve[kind])
        told.append(", ".join(f"{number(value)} in {language}" for language, value in highest.items()))
    if not told[0]:
        return []
    loss = f", and the loss rises above it by at most {told[1]}" if told[1] else ""
    return [
        f"Between the source models of two seeds, {numbers['metric']} falls below the straight line between its ends "
        f"by at most {told[0]}{loss}."
    ]


def around_source(numbers: dict) -> list[str]:
    """How far source models can be moved at random before they lose what counts, by language."""
    found = []
    for one in (one for one in numbers["around"] if one["on"] == SOURCE):
        known = [language for language, kept in one["kept"].items() if kept["mean"]]
        radii = " and ".join(f"{far(one['radius'][language], one['points'])} in {language}" for language in known)
        which = f"the model of {numbers['source']}" + (f" for {one['target']}" if one["target"] else "")
        told = f"{which} keeps {100 * KEPT:.0f} % of its {numbers['metric']} within a radius of {radii}."
        found += [f"Moved in random directions, {told}"] if known else []
    return found
