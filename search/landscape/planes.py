"""Charts of the plane that the models of source, target and both lie in: scores as contours, one chart per language."""

import math
from collections.abc import Iterator

from seedwise.search.drawing.chart import Chart, focus, label
from seedwise.search.landscape import looks
from seedwise.search.landscape.looks import NORMALISED, SCORE, languages, measure, model
from seedwise.text import number
from seedwise.trainables.landscape.jobs import ALL, BOTH, SOURCE, TARGET

PLACES = {BOTH: (0.0, 0.0), SOURCE: (1.0, 0.0), TARGET: (0.0, 1.0)}  # of the models, in units of both directions
LEVELS = 12  # about how many contours
SCALE = ("#fdf3dc", "#a9d0e8", "#3a8fc0")  # from low to high
INK = "#111111"  # readable on every colour of the scale
SYMBOLS = {BOTH: "square", SOURCE: "circle", TARGET: "diamond"}


def planes(numbers: dict) -> Iterator[Chart]:
    """Contours by target, part, replicate and language; relative ones have one scale for all languages of a target."""
    for name in (NORMALISED, SCORE):
        for plane in numbers["planes"]:
            scores = surfaces(plane, name)
            alike = [surfaces(one, name) for one in numbers["planes"] if one["target"] == plane["target"]]
            for language in languages(numbers, plane["target"], scores):
                several = [rows for of in alike for key, rows in of.items() if name == NORMALISED or key == language]
                scale = focus([value for rows in several for row in rows for value in row])
                yield _plane(numbers, plane, name, language, scores[language], scale)


def surfaces(plane: dict, name: str) -> dict[str, list[list[float]]]:
    """Rows of scores by language, as measured or over the score of the model of both, where it has one."""
    if name == SCORE:
        return plane["scores"]
    known = {language: score for language, score in plane["bilingual"].items() if score}
    return {
        language: [[value / known[language] for value in row] for row in rows]
        for language, rows in plane["scores"].items()
        if language in known
    }


def at_models(axis: list[float], rows: list[list[float]]) -> dict[str, float]:
    """The scores at the places of the three models."""
    return {on: rows[axis.index(y)][axis.index(x)] for on, (x, y) in PLACES.items()}


def _plane(numbers: dict, plane: dict, name: str, language: str, rows: list[list[float]], scale: list[float]) -> Chart:
    target, part, axis = plane["target"], plane["part"], plane["axis"]
    flat, at = [value for row in rows for value in row], at_models(axis, rows)
    best = max(range(len(flat)), key=flat.__getitem__)
    told = ", ".join(f"{number(at[on])} at {model(numbers, on, target)}" for on in PLACES)
    text = (
        f"{measure(numbers, name)} in {language} over the plane of the three models, {looks.PARTS[part]}, replicate "
        f"{plane['replicate']}: {told}; from {number(min(flat))} to {number(max(flat))}, the highest at "
        f"a1 = {axis[best % len(axis)]:g}, a2 = {axis[best // len(axis)]:g}."
    )
    own = "Divided by the score of the model of both. " if name == NORMALISED else ""
    kept = "" if part == ALL else f"Only the {part} moves, the rest stays that of both, also where other names stand. "
    low = "The lightest colour stands for less, too. " if min(flat) < scale[0] else ""
    caption = (
        f"The model of both, plus a1 times the way to the model of {numbers['source']}, plus a2 times the way to that "
        f"of {target}; {len(axis)} by {len(axis)} points of one replicate. {own}{kept}{low}{looks.analysis(target)}"
    )
    names = {BOTH: "both", SOURCE: label(numbers["source"]), TARGET: label(target)}
    # Names have a ground of their own, since numbers of contours may lie below them.
    look = {"showarrow": False, "yshift": -18, "bgcolor": "rgba(255,255,255,0.75)", "font": {"color": INK}}
    written = [{"x": x, "y": y, "text": f"<b>{names[on]}</b>", **look} for on, (x, y) in PLACES.items()]
    square = {"constrain": "domain", "zeroline": False}
    layout = {
        "height": 440,
        "margin": {"l": 50, "r": 10, "t": 10, "b": 60},
        "xaxis": {"title": {"text": label(f"a1, towards {numbers['source']}")}, **square},
        "yaxis": {"title": {"text": label(f"a2, towards {target}")}, "scaleanchor": "x", **square},
        "annotations": written,
    }
    when = {"target": target, "moved": looks.PARTS[part], "replicate": str(plane["replicate"])}
    when |= {"measure": measure(numbers, name)}
    data = [_contour(axis, rows, scale), _models(names, at)]
    return Chart("", looks.titled(numbers, language), text, caption, data, layout, when=when)


def _contour(axis: list[float], rows: list[list[float]], scale: list[float]) -> dict:
    size = step(scale[1] - scale[0])
    levels = {"start": math.ceil(scale[0] / size) * size, "end": math.floor(scale[1] / size) * size, "size": size}
    digits = f".{max(2, -math.floor(math.log10(size)))}f"
    labels = {"showlabels": True, "labelfont": {"size": 11, "color": INK}, "labelformat": digits}
    return {
        "type": "contour",
        "name": "scores",
        "x": axis,
        "y": axis,
        "z": rows,
        "zmin": scale[0],
        "zmax": scale[1],
        "colorscale": list(zip((0.0, 0.5, 1.0), SCALE, strict=True)),
        "contours": levels | labels,
        "line": {"width": 0.7, "color": "#5b6770"},
        "colorbar": {"thickness": 12, "outlinewidth": 0, "tickformat": digits},
        "hovertemplate": "a1 %{x:.1f}, a2 %{y:.1f}: %{z:.4f}<extra></extra>",
    }


def _models(names: dict[str, str], at: dict[str, float]) -> dict:
    """The three models as points; `names` is markup."""
    shapes = {"symbol": [SYMBOLS[on] for on in PLACES], "size": 10, "color": "#ffffff"}
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "models",
        "x": [x for x, _ in PLACES.values()],
        "y": [y for _, y in PLACES.values()],
        "marker": shapes | {"line": {"color": INK, "width": 2}},
        "text": [f"{names[on]}: {at[on]:.4f}" for on in PLACES],
        "hovertemplate": "%{text}<extra></extra>",
        "showlegend": False,
    }


def step(span: float) -> float:
    """A round distance between contours, so that there are about as many as wanted."""
    least = span / LEVELS
    power = 10.0 ** math.floor(math.log10(least))
    return next(times * power for times in (1, 2, 5, 10) if times * power >= least)
