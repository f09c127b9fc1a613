"""Traces and axes that charts of a landscape are made of."""

from seedwise.search.drawing.chart import GREY, LEGEND, label
from seedwise.search.landscape.looks import COLOURS, SYMBOLS, edges, model
from seedwise.trainables.landscape.jobs import ALL, SOURCE

THIN = {"width": 1.3, "dash": "dot"}
FAINT = "2b"  # how much of a colour a band has, in hexadecimals: 17 %


def curve(name: str, x: list[float], y: list[float], index: int, said: list[str], **more: object) -> dict:
    """A line through its points. `index` is its colour, `said` is shown where one points at them."""
    colour = COLOURS[index % len(COLOURS)]
    marker = {"symbol": SYMBOLS[index % len(SYMBOLS)], "size": 5, "color": colour}
    look = {"mode": "lines+markers", "line": {"color": colour, "width": 2}, "marker": marker}
    return {"type": "scatter", "name": label(name), "x": x, "y": y, **look, **_hover(said), **more}


def with_band(name: str, x: list[float], banded: dict, index: int) -> list[dict]:
    """A mean as a line, with its band behind it; the legend switches both."""
    mean, group = banded["mean"], {"legendgroup": label(name)}
    spread = [f" ± {value:.4f}" for value in banded["sd"]] or [""] * len(mean)
    said = [f"{name}: {value:.4f}{sd} at {a:g}" for a, value, sd in zip(x, mean, spread, strict=True)]
    line = curve(name, x, mean, index, said, **group)
    if not banded["sd"]:
        return [line]
    low, high = edges(banded)
    fill = {"fill": "toself", "fillcolor": COLOURS[index % len(COLOURS)] + FAINT, "line": {"width": 0}}
    band = {"type": "scatter", "mode": "lines", "name": label(f"{name}, band"), "showlegend": False}
    return [band | {"x": [*x, *reversed(x)], "y": [*low, *reversed(high)], "hoverinfo": "skip", **fill, **group}, line]


def singles(name: str, x: list[float], banded: dict, index: int, *, first: bool) -> list[dict]:
    """Every replicate as a thin line. One entry of the legend, that of the `first`, switches those of all languages on;
    where the mean is of one replicate, there are none."""
    found = []
    for replicate, y in banded["replicates"].items() if banded["sd"] else ():
        points = [(a, value) for a, value in zip(x, y, strict=True) if value is not None]
        said = [f"{name}, replicate {replicate}: {value:.4f} at {a:g}" for a, value in points]
        at = {"x": [a for a, _ in points], "y": [value for _, value in points]}
        entry = {"name": "single replicates", "legendgroup": "single replicates", "showlegend": first and not found}
        look = {"mode": "lines", "line": {"color": COLOURS[index % len(COLOURS)], **THIN}, "visible": "legendonly"}
        found.append({"type": "scatter", **at, **entry, **look, **_hover(said)})
    return found


def along(numbers: dict, line: dict, y: dict) -> dict:
    """The layout of a chart along a line between models, with marks at both."""
    on, target, part = line["on"], line["target"], line["part"]
    alone = numbers["source"] if on == SOURCE else target
    end = "both" if part == ALL else f"{part} of both"
    ends = (f"0<br>{label(alone)} only", f"1<br>{end}")
    return between(f"a, from {model(numbers, on, target)} to that of both", ends, y)


def between(title: str, ends: tuple[str, str], y: dict) -> dict:
    """The layout of a chart between two places in the space of parameters; `ends` is markup."""
    texts = ["−0.5", ends[0], "0.5", ends[1], "1.5"]
    # A little room below the axis, for the lowest number of the other one.
    ticks = {"tickvals": [-0.5, 0, 0.5, 1, 1.5], "ticktext": texts, "ticklabelstandoff": 6}
    x = axis(title, range=[-0.54, 1.54], **ticks)
    shapes = [mark(x0=at, x1=at, y0=0, y1=1, yref="paper") for at in (0, 1)]
    return {"xaxis": x, "yaxis": y, "shapes": shapes, "legend": LEGEND}


def mark(**place: object) -> dict:
    """A dotted line behind the curves."""
    return {"type": "line", "layer": "below", "line": {"color": GREY, **THIN}, **place}


def axis(title: str, **more: object) -> dict:
    return {"title": {"text": label(title), "standoff": 10}, "zeroline": False, "automargin": True, **more}


def _hover(said: list[str]) -> dict:
    return {"text": [label(text) for text in said], "hovertemplate": "%{text}<extra></extra>"}
