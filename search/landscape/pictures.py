"""Pictures of a landscape in the plain format of methods, for whoever has no browser at hand: MLflow, a paper."""

from seedwise.search.landscape import looks
from seedwise.search.landscape.looks import NORMALISED, SCORE, edges, languages, measure, model
from seedwise.search.landscape.planes import PLACES, surfaces
from seedwise.text import number
from seedwise.trainables.landscape.jobs import ALL, BOTH, SOURCE, TARGET
from seedwise.trainables.pictures import checked

FILES = {SCORE: "", NORMALISED: "-relative"}  # what the name of a picture ends with


def pictures(numbers: dict) -> list[dict]:
    """All that the numbers allow, in the format of `Method.pictures`."""
    found = [*_lines(numbers), *_planes(numbers), *_variance(numbers), *_seeds(numbers), *_around(numbers)]
    return checked(found)


def _lines(numbers: dict) -> list[dict]:
    """One picture per part and measure: a row per target, its two directions side by side."""
    found = []
    for part in dict.fromkeys(line["part"] for line in numbers["lines"]):
        for name in (SCORE, NORMALISED):
            panels, known = [], []
            for line in numbers["lines"]:
                curves = {key: curve[name] for key, curve in line["curves"].items() if curve[name]["mean"]}
                if line["part"] == part and curves:
                    known += curves.values()
                    panels.append(_along(numbers, line, measure(numbers, name), _banded(numbers, line, curves)))
            title = f"{measure(numbers, name)} from a model of one language to that of both, {looks.PARTS[part]}"
            if panels:
                text = f"{title}. {_rest(part, 'the model at 0')}{looks.mean_of(known)} {_analysis(numbers)}"
                found.append(_picture(f"lines{_of(part)}{FILES[name]}", title, text, 2, panels))
    return found


def _variance(numbers: dict) -> list[dict]:
    found = []
    for part in dict.fromkeys(line["part"] for line in numbers["lines"]):
        panels, counted = [], []
        for line in numbers["lines"]:
            curves = {key: curve[SCORE] for key, curve in line["curves"].items() if curve[SCORE]["variance"]}
            if line["part"] == part and curves:
                known = languages(numbers, line["target"], curves)
                series = [_series(_role(numbers, line, one), line["points"], curves[one]["variance"]) for one in known]
                panels.append(_along(numbers, line, "variance", series))
                counted += curves.values()
        title = f"Variance of {numbers['metric']} over replicates on the way, {looks.PARTS[part]}"
        if panels:
            sample = f"{_rest(part, 'the model at 0')}Sample variance over {looks.over(counted)}."
            text = f"{title}. {sample} {_analysis(numbers)}"
            found.append(_picture(f"variance{_of(part)}", title, text, 2, panels))
    return found


def _planes(numbers: dict) -> list[dict]:
    """One picture per part: a panel per plane and language, relative to the model of both where it has a score."""
    found = []
    for part in dict.fromkeys(plane["part"] for plane in numbers["planes"]):
        panels, width = [], 1
        some = [plane for plane in numbers["planes"] if plane["part"] == part]
        name = NORMALISED if all(surfaces(one, NORMALISED).keys() == one["scores"].keys() for one in some) else SCORE
        for plane in some:
            rows, axis, target = surfaces(plane, name), plane["axis"], plane["target"]
            known = languages(numbers, target, rows)
            width = max(width, len(known))
            labels = {BOTH: "both", SOURCE: numbers["source"], TARGET: target}
            x, y = ([place[i] for place in PLACES.values()] for i in (0, 1))
            models = {"name": "", "kind": "points", "x": x, "y": y, "labels": [labels[on] for on in PLACES]}
            for language in known:
                title = f"{looks.titled(numbers, language)}, replicate {plane['replicate']}"
                panel = {"title": title, "series": [models]}
                panel |= {"x": f"a1, towards {numbers['source']}", "y": f"a2, towards {target}"}
                panels.append(panel | {"surface": {"x": axis, "y": axis, "z": rows[language]}})
        title = f"{measure(numbers, name)} over the plane of the three models, {looks.PARTS[part]}"
        text = f"{title}. {_rest(part, 'both')}One scale for all panels. {_analysis(numbers)}"
        found.append(_picture(f"planes{_of(part)}", title, text, width, panels))
    return found


def _seeds(numbers: dict) -> list[dict]:
    panels, highest = [], 0.0
    for target in dict.fromkeys(one["target"] for one in numbers["seeds"]):
        pairs = [one for one in numbers["seeds"] if one["target"] == target]
        for language in languages(numbers, target, (name for one in pairs for name in one["curves"])):
            series = []
            for one in pairs:
                curve = one["curves"].get(language)
                if curve and curve["barrier"] is not None:
                    name = "seeds {} and {}".format(*one["replicates"])
                    series.append(_series(name, one["points"], curve[SCORE]))
                    highest = max(highest, curve["barrier"])
            of = f"{language}, models for {target}" if target else language
            axes = {"title": of, "x": "a, from one seed to another", "y": numbers["metric"]}
            panels += [axes | {"series": series}] if series else []
    title = f"{numbers['metric']} between source models of two seeds"
    text = (
        f"{title}, on dev sets. The highest barrier below a straight line between two models is {number(highest)}. "
        "Nothing was trained on target labels, and nothing here selects anything."
    )
    return [_picture("seeds", title, text, 2, panels)] if panels else []


def _around(numbers: dict) -> list[dict]:
    panels, known = [], []
    for target in looks.targets_of(numbers["around"]):
        near = [one for one in numbers["around"] if one["target"] in ("", target)]
        for language in languages(numbers, target, (name for one in near for name in one["kept"])):
            series = []
            for one in near:
                banded = one["kept"].get(language, {"mean": []})
                if banded["mean"]:
                    known.append(banded)
                    name = {SOURCE: "source model", TARGET: "target's model", BOTH: "model of both"}[one["on"]]
                    series.append(_with_band(name, one["points"], banded))
            of = f"{language}, models for {target}" if target else language
            axes = {"title": of, "x": "radius", "y": "share of its own score"}
            panels += [axes | {"series": series}] if series else []
    title = f"{numbers['metric']} around trained models, in random directions"
    if not panels:
        return []
    runs = looks.mean_of(known, looks.RUNS)
    text = f"{title}, the radius in lengths of the model's own filters. {runs} {_analysis(numbers)}"
    return [_picture("around", title, text, 2, panels)]


def _of(part: str) -> str:
    return "" if part == ALL else f"-{part}"


def _rest(part: str, model: str) -> str:
    return "" if part == ALL else f"Only the {part} moves, the rest stays that of {model}. "


def _analysis(numbers: dict) -> str:
    if not numbers["options"]["labels"]:
        return "On dev sets; nothing here selects anything."
    return looks.analysis("the target")


def _picture(name: str, title: str, text: str, columns: int, panels: list[dict]) -> dict:
    return {"name": name, "title": title, "text": text, "columns": columns, "panels": panels}


def _along(numbers: dict, line: dict, y: str, series: list[dict]) -> dict:
    """A panel along a line."""
    title = f"{line['target']}: {model(numbers, line['on'], line['target'])} (0) to both (1)"
    return {"title": title, "x": "a", "y": y, "series": series}


def _banded(numbers: dict, line: dict, curves: dict[str, dict]) -> list[dict]:
    known = languages(numbers, line["target"], curves)
    return [_with_band(_role(numbers, line, one), line["points"], curves[one]) for one in known]


def _role(numbers: dict, line: dict, language: str) -> str:
    """A name for the legend, and so a colour, that is the same for all targets."""
    if language == numbers["source"]:
        return f"source ({language})"
    return "target" if language == line["target"] else language


def _with_band(name: str, x: list[float], banded: dict) -> dict:
    low, high = edges(banded)
    return _series(name, x, banded["mean"]) | ({"low": low, "high": high} if banded["sd"] else {})


def _series(name: str, x: list[float], y: list[float]) -> dict:
    return {"name": name, "kind": "line", "x": x, "y": y}
