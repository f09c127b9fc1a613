"""The report of a landscape, as a page that works offline and as a section of its search's report."""

import json
from operator import itemgetter
from pathlib import Path

from seedwise.errors import RequestError
from seedwise.program import called
from seedwise.search.drawing.chart import escaped
from seedwise.search.drawing.choices import choosable
from seedwise.search.drawing.html import frame
from seedwise.search.drawing.table import Cells, Column, Table
from seedwise.search.landscape.captions import counted
from seedwise.search.landscape.charts import groups
from seedwise.text import number
from seedwise.trainables.landscape.jobs import BOTH, INITIAL, SOURCE, TARGET

NUMBERS = "landscape.json"  # in the folder of a landscape
WORDS = {  # what the charts of each group show
    "lines": "If the source stays flat while the target rises, source labels cannot tell good seeds from bad seeds.",
    "variance": "How much seeds differ along the lines. Zero-shot transfer is the point a = 0 of the source's line.",
    "planes": "All three models lie in one plane. The source's model is the zero-shot model.",
    "seeds": "Straight lines between source models of different seeds show whether the models lie in one valley.",
    "around": "The further a model can be moved at random before it forgets, the flatter its minimum.",
}


def read_numbers(folder: Path) -> dict:
    """Read the numbers of a landscape that has ended."""
    path = folder / NUMBERS
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        problem = str(getattr(error, "strerror", None) or error)
        raise RequestError(str(path), problem, f"Write it anew with: {called('report', folder)}") from error


def page(numbers: dict) -> str:
    """The whole report of a landscape."""
    options = numbers["options"]
    note = (
        f"{_method(numbers)}: {counted(options['replicates'])}, from {numbers['source']} to "
        f"{', '.join(numbers['targets']) or 'no other language'}, {numbers['metric']} on dev sets. "
    )
    note += (
        "Models of a target and of both are trained on labels of the target: an analysis that selects no configuration."
        if options["labels"]
        else "No model is trained on labels of a target; nothing here is used to select a configuration."
    )
    parts = [(key, title, f"{_words(key)}\n{choosable(charts)}") for key, title, charts in groups(numbers)]
    parts += [("directions", "Distances between the models", _directions(numbers))] if numbers["directions"] else []
    parts += [("models", "The models", _models(numbers))] if numbers["models"] else []
    if numbers["left_out"]:
        failed = "".join(f"<li>{escaped(failure)}</li>" for failure in numbers["left_out"])
        parts.append(("failures", "Failed runs, left out above", f"<ul>{failed}</ul>"))
    sentences = numbers["sentences"] or ["Nothing has been measured so far."]
    return frame(numbers["name"], note, list(map(escaped, sentences)), parts, even=True)


def section(numbers: dict) -> str:
    """Sentences and charts for the report of the search that the configuration came from."""
    sentences = "".join(f"<p>{escaped(sentence)}</p>" for sentence in numbers["sentences"])
    note = (
        f"Interpolation between models of one configuration ({_method(numbers)}; {_params(numbers)}), made after the "
        "search. It did not affect what was selected."
    )
    answer = f'<div class="answer even">{sentences}</div>' if sentences else ""
    parts = [f"<h3>{escaped(title)}</h3>\n{_words(key)}\n{choosable(charts)}" for key, title, charts in groups(numbers)]
    return "\n".join([f'<p class="note">{escaped(note)}</p>', answer, *parts])


def _words(key: str) -> str:
    return f"<p>{escaped(WORDS[key])}</p>"


def _method(numbers: dict) -> str:
    baseline = numbers.get("baseline")
    return f"{numbers['method']}, baseline {baseline}" if baseline else str(numbers["method"])


def _params(numbers: dict) -> str:
    return ", ".join(f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in numbers["params"].items())


def _directions(numbers: dict) -> str:
    """A table of the directions of equation 3, their lengths and angles, and how far training moved the models."""
    source = numbers["source"]
    lengths = {"source_norm": f"both to {source}", "target_norm": "both to target", "ratio": "ratio"}
    moved = {SOURCE: source, TARGET: "target", BOTH: "both"}
    cells: list[Cells] = [
        (Column("target"), itemgetter("target")),
        (Column("replicate", number=True), lambda row: str(row["replicate"])),
        *((Column(name, number=True), lambda row, key=key: number(row[key])) for key, name in lengths.items()),
        (Column("angle", number=True), lambda row: "-" if row["angle"] is None else f"{row['angle']:.1f}°"),
        *(
            (Column(f"initial to {name}", number=True), lambda row, on=on: number(row["from_initial"][on]))
            for on, name in moved.items()
        ),
    ]
    note = (
        "Euclidean distances between parameters. Ratio and angle are those of the two directions of the plane, which "
        "are not scaled to one length. All three models started from the same initial model."
    )
    return Table.of(cells, [numbers["directions"]], notes=[note]).html()


def _models(numbers: dict) -> str:
    """A table of the scores of all trained models."""
    names = {INITIAL: "before training", SOURCE: numbers["source"], BOTH: "both"}
    known = {language for row in numbers["models"] for language in row["scores"]}
    cells: list[Cells] = [
        (Column("trained on"), lambda row: names.get(row["on"], row["target"])),
        (Column("for target"), lambda row: row["target"] or "all"),
        (Column("replicate", number=True), lambda row: str(row["replicate"])),
        *(
            (Column(f"{numbers['metric']} {name}", number=True), lambda row, name=name: number(row["scores"].get(name)))
            for name in dict.fromkeys((numbers["source"], *numbers["targets"]))
            if name in known
        ),
    ]
    note = f"Scores on dev sets. The configuration: {_params(numbers)}."
    return Table.of(cells, [numbers["models"]], notes=[note]).html()
