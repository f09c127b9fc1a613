"""The report of a landscape as one page that needs no network, and as a section of that of a search."""

import json

from seedwise.search.drawing.chart import escaped
from seedwise.search.drawing.choices import choosable
from seedwise.search.drawing.html import frame, line, table
from seedwise.search.landscape import looks
from seedwise.search.landscape.charts import groups
from seedwise.text import number
from seedwise.trainables.landscape.jobs import BOTH, INITIAL, SOURCE, TARGET

WORDS = {  # what each kind of picture is for, said once above it
    "lines": "Where the source stays flat while the target rises, source labels cannot tell good seeds from bad ones.",
    "variance": "Where seeds differ on the way. Zero-shot transfer ends at a = 0 of the line from the source's model.",
    "planes": "All three models lie in one plane. Zero-shot transfer ends at the source's model.",
    "seeds": "Source models of different seeds, joined by straight lines: whether they lie in one valley.",
    "around": "How far a model can be moved at random before it forgets: the wider, the flatter the place it is in.",
}


def page(numbers: dict) -> str:
    """The whole report of a landscape."""
    options = numbers["options"]
    told = [
        f"{_method(numbers)}: {looks.counted(options['replicates'])}, from {numbers['source']} to "
        f"{', '.join(numbers['targets']) or 'no other language'}, {numbers['metric']} on dev sets.",
        "Models of a target and of both are trained on labels of the target: an analysis, which selects nothing."
        if options["labels"]
        else "No model is trained on labels of a target; nothing here selects anything.",
    ]
    parts = [(key, title, f"{_words(key)}\n{choosable(some)}") for key, title, some in groups(numbers)]
    parts += [("directions", "Where the models lie", _directions(numbers))] if numbers["directions"] else []
    parts += [("models", "The models", _models(numbers))] if numbers["models"] else []
    if numbers["left_out"]:
        failed = "".join(f"<li>{escaped(one)}</li>" for one in numbers["left_out"])
        parts.append(("failures", "What failed and is left out", f"<ul>{failed}</ul>"))
    sentences = numbers["sentences"] or ["Nothing has been measured so far."]
    return frame(numbers["name"], " ".join(told), [escaped(one) for one in sentences], parts, even=True)


def section(numbers: dict) -> str:
    """Sentences and charts for the report of the search that the configuration came from."""
    told = "".join(f"<p>{escaped(one)}</p>" for one in numbers["sentences"])
    what = (
        f"Interpolation between models of one configuration ({_method(numbers)}; {_params(numbers)}), made after the "
        "search. It had no say in what was selected."
    )
    found = [f'<p class="note">{escaped(what)}</p>', f'<div class="answer even">{told}</div>' if told else ""]
    for key, title, some in groups(numbers):
        found.append(f"<h3>{escaped(title)}</h3>\n{_words(key)}\n{choosable(some)}")
    return "\n".join(found)


def _words(key: str) -> str:
    return f"<p>{escaped(WORDS[key])}</p>"


def _method(numbers: dict) -> str:
    baseline = numbers.get("baseline")
    return f"{numbers['method']}, baseline {baseline}" if baseline else str(numbers["method"])


def _params(numbers: dict) -> str:
    return ", ".join(f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in numbers["params"].items())


def _directions(numbers: dict) -> str:
    """Lengths and angles of the directions of equation 3, and how far training went."""
    source = numbers["source"]
    names = ["target", "replicate", f"both to {source}", "both to target", "ratio", "angle"]
    names += [f"initial to {one}" for one in (source, "target", "both")]
    kinds = ["", *["number"] * (len(names) - 1)]
    lines = []
    for row in numbers["directions"]:
        lengths = [number(row[key]) for key in ("source_norm", "target_norm", "ratio")]
        angle = "-" if row["angle"] is None else f"{row['angle']:.1f}°"
        moved = [number(row["from_initial"][on]) for on in (SOURCE, TARGET, BOTH)]
        texts = [row["target"], str(row["replicate"]), *lengths, angle, *moved]
        lines.append(line("td", [escaped(text) for text in texts], kinds))
    note = (
        "Euclidean distances between parameters. The ratio is that of the two directions of the plane, which are not "
        "made equally long; the angle is between them. All three models began at the same initial one."
    )
    return _tabled(names, kinds, lines, note)


def _models(numbers: dict) -> str:
    """The models' own scores."""
    names = {INITIAL: "before training", SOURCE: numbers["source"], BOTH: "both"}
    known = {name for row in numbers["models"] for name in row["scores"]}
    shown = [one for one in dict.fromkeys((numbers["source"], *numbers["targets"])) if one in known]
    heads = ["trained on", "for target", "replicate", *(f"{numbers['metric']} {one}" for one in shown)]
    kinds = ["", "", *["number"] * (1 + len(shown))]
    lines = []
    for row in numbers["models"]:
        texts = [names.get(row["on"], row["target"]), row["target"] or "all", str(row["replicate"])]
        texts += [number(row["scores"].get(one)) for one in shown]
        lines.append(line("td", [escaped(text) for text in texts], kinds))
    note = f"Scores on dev sets. The configuration: {_params(numbers)}."
    return _tabled(heads, kinds, lines, note)


def _tabled(names: list[str], kinds: list[str], lines: list[str], note: str) -> str:
    head = line("th", [escaped(name) for name in names], kinds)
    return f'{table(head, lines)}\n<p class="note">{escaped(note)}</p>'
