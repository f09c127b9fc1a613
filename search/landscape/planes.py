"""Charts of the plane through the models of source, target and both languages: scores as contours, by language."""

import math
from collections.abc import Iterator

from seedwise.search.drawing.chart import Chart, focus, label
from seedwise.search.landscape import captions
from seedwise.search.landscape.captions import NORMALISED, SCORE, languages, measure, model
from seedwise.text import number
from seedwise.trainables.landscape.jobs import ALL, BOTH, SOURCE, TARGET

POINTS = {BOTH: (0.0, 0.0), SOURCE: (1.0, 0.0), TARGET: (0.0, 1.0)}  # of the models: a1, a2
SYMBOLS = ["square", "circle", "diamond"]  # of the models
LEVELS = 12  # contours at most
SCALE = ("#fdf3dc", "#a9d0e8", "#3a8fc0")  # from low to high
INK = "#111111"  # readable on every colour of the scale


def planes(numbers: dict) -> Iterator[Chart]:
    """Charts of contours by target, part, replicate and language. Relative scores of a target share one scale."""
    for name in (NORMALISED, SCORE):
        for plane in numbers["planes"]:
            surfaces = _surfaces(plane, name)
            same_target = [_surfaces(p, name) for p in numbers["planes"] if p["target"] == plane["target"]]
            for language in languages(numbers, plane["target"], surfaces):
                comparable = [
                    rows
                    for surface in same_target
                    for key, rows in surface.items()
                    if name == NORMALISED or key == language
                ]
                scale = focus([value for rows in comparable for row in rows for value in row])
                yield _plane(numbers, plane, name, language, surfaces[language], scale)


def _surfaces(plane: dict, name: str) -> dict[str, list[list[float]]]:
    """Rows of scores by language: as measured, or divided by the score of the model of both if it is known."""
    if name == SCORE:
        return plane["scores"]
    return {
        language: [[value / plane["bilingual"][language] for value in row] for row in rows]
        for language, rows in plane["scores"].items()
        if plane["bilingual"].get(language)
    }


def _plane(numbers: dict, plane: dict, name: str, language: str, rows: list[list[float]], scale: list[float]) -> Chart:
    source, target, part, axis = numbers["source"], plane["target"], plane["part"], plane["axis"]
    flat = [value for row in rows for value in row]
    heights = {on: rows[axis.index(y)][axis.index(x)] for on, (x, y) in POINTS.items()}
    best = max(range(len(flat)), key=flat.__getitem__)
    at_models = ", ".join(f"{number(height)} at {model(numbers, on, target)}" for on, height in heights.items())
    text = (
        f"{measure(numbers, name)} in {language} over the plane of the three models, {captions.PARTS[part]}, replicate "
        f"{plane['replicate']}: {at_models}; from {number(min(flat))} to {number(max(flat))}, the highest at "
        f"a1 = {axis[best % len(axis)]:g}, a2 = {axis[best // len(axis)]:g}."
    )
    own = "Divided by the score of the model of both. " if name == NORMALISED else ""
    kept = "" if part == ALL else f"Only the {part} moves; the rest is that of the model of both everywhere. "
    low = "The lightest colour includes lower scores. " if min(flat) < scale[0] else ""
    caption = (
        f"The model of both, plus a1 times the way to the model of {source}, plus a2 times the way to that of {target}"
        f"; {len(axis)} by {len(axis)} points of one replicate. {own}{kept}{low}{captions.analysis(target)}"
    )
    names = {BOTH: "both", SOURCE: label(source), TARGET: label(target)}
    # The background hides contour numbers below a name.
    look = {"showarrow": False, "yshift": -18, "bgcolor": "rgba(255,255,255,0.75)", "font": {"color": INK}}
    square = {"constrain": "domain", "zeroline": False}
    layout = {
        "height": 440,
        "margin": {"l": 50, "r": 10, "t": 10, "b": 60},
        "xaxis": {"title": {"text": label(f"a1, towards {source}")}, **square},
        "yaxis": {"title": {"text": label(f"a2, towards {target}")}, "scaleanchor": "x", **square},
        "annotations": [{"x": x, "y": y, "text": f"<b>{names[on]}</b>", **look} for on, (x, y) in POINTS.items()],
    }
    when = {"target": target, "moved": captions.PARTS[part], "replicate": str(plane["replicate"])}
    when |= {"measure": measure(numbers, name)}
    hover = [f"{names[on]}: {height:.4f}" for on, height in heights.items()]
    data = [_contours(axis, rows, scale), _models(hover)]
    return Chart("", captions.titled(numbers, language), text, caption, data, layout, when=when)


def _contours(axis: list[float], rows: list[list[float]], scale: list[float]) -> dict:
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


def _models(hover: list[str]) -> dict:
    x, y = zip(*POINTS.values(), strict=True)
    marker = {"symbol": SYMBOLS, "size": 10, "color": "#ffffff", "line": {"color": INK, "width": 2}}
    trace = {"type": "scatter", "mode": "markers", "name": "models", "x": list(x), "y": list(y), "marker": marker}
    return trace | {"text": hover, "hovertemplate": "%{text}<extra></extra>", "showlegend": False}


def step(span: float) -> float:
    """The smallest round step between contours that gives at most `LEVELS` contours."""
    least = span / LEVELS
    power = 10.0 ** math.floor(math.log10(least))
    return next(times * power for times in (1, 2, 5, 10) if times * power >= least)
