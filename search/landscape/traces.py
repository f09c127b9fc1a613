"""Traces and axes of a landscape's charts."""

from collections.abc import Iterable

from seedwise.search.drawing.chart import BLUE, GREEN, GREY, LEGEND, ORANGE, RED, label
from seedwise.search.drawing.svg import PALETTE

COLOURS = (BLUE, RED, GREEN, PALETTE[3], ORANGE)  # source, target, other targets; no black, for dark pages
SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross")  # for readers who cannot tell the colours apart
THIN = {"width": 1.3, "dash": "dot"}
BAND_ALPHA = "2b"  # opacity of a band in hexadecimal: 17 %
SINGLE = "single replicates"  # their entry in the legend


def curve(name: str, x: list[float], y: list[float], rank: int, hover: list[str], **more: object) -> dict:
    """A line through its points. `rank` decides colour and symbol; `hover` has a text for each point."""
    colour = COLOURS[rank % len(COLOURS)]
    marker = {"symbol": SYMBOLS[rank % len(SYMBOLS)], "size": 5, "color": colour}
    look = {"mode": "lines+markers", "line": {"color": colour, "width": 2}, "marker": marker}
    return {"type": "scatter", "name": label(name), "x": x, "y": y, **look, **_hover(hover), **more}


def with_band(name: str, x: list[float], banded: dict, rank: int) -> list[dict]:
    """A mean as a line with its band behind it. One entry of the legend switches line and band."""
    mean, group = banded["mean"], {"legendgroup": label(name)}
    spread = [f" ± {sd:.4f}" for sd in banded["sd"]] or [""] * len(mean)
    hover = [f"{name}: {value:.4f}{sd} at {a:g}" for a, value, sd in zip(x, mean, spread, strict=True)]
    line = curve(name, x, mean, rank, hover, **group)
    if not banded["sd"]:
        return [line]
    low, high = edges(banded)
    band = {"type": "scatter", "mode": "lines", "name": label(f"{name}, band"), "showlegend": False}
    fill = {"fill": "toself", "fillcolor": COLOURS[rank % len(COLOURS)] + BAND_ALPHA, "line": {"width": 0}}
    return [band | {"x": [*x, *reversed(x)], "y": [*low, *reversed(high)], "hoverinfo": "skip", **fill, **group}, line]


def singles(name: str, x: list[float], banded: dict, rank: int) -> list[dict]:
    """Every replicate as a thin line, hidden at first. A single replicate gets no line, since it is the mean."""
    lines = []
    for replicate, y in banded["replicates"].items() if banded["sd"] else ():
        points = [(a, value) for a, value in zip(x, y, strict=True) if value is not None]
        hover = [f"{name}, replicate {replicate}: {value:.4f} at {a:g}" for a, value in points]
        entry = {"name": SINGLE, "legendgroup": SINGLE, "showlegend": False, "visible": "legendonly"}
        look = {"mode": "lines", "line": {"color": COLOURS[rank % len(COLOURS)], **THIN}}
        at = {"x": [a for a, _ in points], "y": [value for _, value in points]}
        lines.append({"type": "scatter", **at, **entry, **look, **_hover(hover)})
    return lines


def between(title: str, ends: tuple[str, str], y: dict) -> dict:
    """The layout of a chart along a line between two models. `ends` are their names as markup, `y` is an axis."""
    texts = ["−0.5", f"0<br>{ends[0]}", "0.5", f"1<br>{ends[1]}", "1.5"]
    # The standoff keeps these labels off the lowest number of the y axis.
    ticks = {"tickvals": [-0.5, 0, 0.5, 1, 1.5], "ticktext": texts, "ticklabelstandoff": 6}
    x = axis(title, range=[-0.54, 1.54], **ticks)
    shapes = [mark(x0=at, x1=at, y0=0, y1=1, yref="paper") for at in (0, 1)]
    return {"xaxis": x, "yaxis": y, "shapes": shapes, "legend": LEGEND}


def mark(**corners: object) -> dict:
    """A dotted line behind the curves."""
    return {"type": "line", "layer": "below", "line": {"color": GREY, **THIN}, **corners}


def axis(title: str, **more: object) -> dict:
    return {"title": {"text": label(title), "standoff": 10}, "zeroline": False, "automargin": True, **more}


def span(values: Iterable[float]) -> list[float]:
    """The range of an axis that shows all these values."""
    values = list(values)
    low, high = min(values), max(values)
    margin = 0.06 * (high - low) or 0.05 * abs(high) or 1.0
    return [low - margin, high + margin]


def edges(banded: dict) -> tuple[list[float], list[float]]:
    """The lower and the upper edge of a band; both are the mean if there is no spread."""
    pairs = list(zip(banded["mean"], banded["sd"] or [0.0] * len(banded["mean"]), strict=True))
    return [mean - sd for mean, sd in pairs], [mean + sd for mean, sd in pairs]


def _hover(texts: list[str]) -> dict:
    return {"text": [label(text) for text in texts], "hovertemplate": "%{text}<extra></extra>"}
