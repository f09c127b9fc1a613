"""A chart as plain data for plotly.js with its alternative text, and as markup for a page."""

import html
import json
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from seedwise.search.drawing.svg import PALETTE, plain

BLUE, RED, GREEN, _, ORANGE, *_ = PALETTE
GREY = "#888888"
ROW = 26  # pixels of a row in a chart that lists names
LEGEND = {"orientation": "h", "x": 0, "y": 1.01, "yanchor": "bottom"}  # above the chart, in one line if it fits
OUTLIER = 3.0  # a value further below the lower quartile, in interquartile ranges, is an outlier


@dataclass(frozen=True)
class Chart:
    """One figure. `text` describes the figure in numbers for screen readers; `caption` says how to read the figure.

    `data` and `layout` are plotly's, without colours of text and grid: the page sets these colours, light or dark.
    Below `width` pixels the chart scrolls instead of shrinking; 0 lets it shrink to any width. `when` are the reader's
    choices that show this chart in a group of similar charts; see `seedwise.search.drawing.choices`.
    """

    name: str
    title: str
    text: str
    caption: str
    data: list[dict]
    layout: dict = field(default_factory=dict)
    width: int = 0
    when: dict[str, str] = field(default_factory=dict)

    def html(self, attributes: str = "") -> str:
        """The figure: a heading, an empty box for the page's script to draw in, the data, the caption.

        `attributes` is markup for the figure's tag, with a space before each.
        """
        layout = {"height": 380, "margin": {"l": 60, "r": 20, "t": 30, "b": 50}, "hovermode": "closest"} | self.layout
        min_width = f' style="min-width: {self.width}px"' if self.width else ""
        box = f'<div class="chart" role="img" aria-label="{escaped(self.text)}"{min_width}></div>'
        return "\n".join(
            [
                f'<figure id="chart-{self.name}"{attributes}>',
                f"<h3>{escaped(self.title)}</h3>" if self.title else "",
                f'<div class="wide">{box}</div>',
                f'<script type="application/json">{script_safe({"data": self.data, "layout": layout})}</script>',
                f"<figcaption>{escaped(self.caption)}</figcaption>\n</figure>",
            ]
        )


def escaped(text: str) -> str:
    """Any text, escaped for a page."""
    return html.escape(plain(text))


def label(text: str) -> str:
    """Text escaped for a chart, since plotly interprets tags as markup."""
    return html.escape(text, quote=False)


def script_safe(data: object) -> str:
    """ASCII JSON for a script element: no tag can begin or end in it."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def focus(values: list[float]) -> list[float]:
    """The range of an axis for these values. Outliers far below the rest lie outside: they would squeeze the chart."""
    low, high = np.quantile(values, (0.25, 0.75)).tolist()
    lowest, highest = max(min(values), low - OUTLIER * (high - low)), max(values)
    margin = 0.05 * (highest - lowest) or 0.05 * abs(highest) or 1.0
    return [lowest - margin, highest + margin]


def beyond(points: list[tuple[float, ...]], *shown: list[float]) -> str:
    """A sentence on how many points lie below the visible range of an axis; empty if there are none."""
    below = sum(any(value < low for value, (low, _) in zip(point, shown, strict=True)) for point in points)
    return (
        f" {below} of {len(points)} points lie far below the visible range; a double click shows all." if below else ""
    )


def points(name: str, x: list, y: list, colour: str, *, symbol: str = "circle", size: int = 7, **more: object) -> dict:
    """A scatter trace without lines. `more` is passed to plotly."""
    marker = {"color": colour, "symbol": symbol, "size": size, "line": {"color": colour, "width": 1.5}}
    return {"type": "scatter", "mode": "markers", "name": name, "x": x, "y": y, "marker": marker, **more}


def spread_out(values: list, width: float) -> list[float]:
    """How far points of the same value are moved apart, within `width`, so that they do not hide each other."""
    total, placed, offsets = Counter(map(str, values)), Counter(), []
    for value in map(str, values):
        offsets.append(width * ((placed[value] + 0.5) / total[value] - 0.5))
        placed[value] += 1
    return offsets


def listed(names: list[str], title: str, *, legend: bool = True, **more: object) -> dict:
    """The layout of a chart with one row per name, the first on top; y is the number of the row.

    Rows are numbers because plotly would read some names as numbers or dates. `more` are properties of the x axis.
    """
    rows = {
        "tickvals": list(range(len(names))),
        "ticktext": [label(name) for name in names],
        "range": [len(names) - 0.4, -0.6],
        "automargin": True,
        "zeroline": False,
        "ticklabelstandoff": 6,
    }
    return {
        "height": (90 if legend else 60) + ROW * max(3, len(names)),
        "xaxis": {"title": {"text": label(title)}, "zeroline": False, "automargin": True, **more},
        "yaxis": rows,
        "legend": LEGEND,
        "showlegend": legend,
        "margin": {"l": 20, "r": 20, "t": 40 if legend else 10, "b": 45},
    }
