"""Pictures of runs: read what methods stored in a search folder, and draw it as SVG."""

import io
import json
import re
import warnings
from pathlib import Path
from textwrap import fill
from xml.etree import ElementTree

from seedwise.errors import RequestError
from seedwise.folder import pictures_of

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")  # Okabe and Ito; no yellow
MARKERS = "os^DvPX"  # shapes beside colours, for readers who cannot tell the colours apart
PANEL, SINGLE_PANEL = (3.6, 2.8), (6.4, 3.8)  # inches of one panel among several, and of a panel alone
MAX_LABELS, MAX_LABEL_LENGTH = 40, 30  # per panel; more cannot be read
CHARACTER = 0.085  # inches of a character on average, generously
MARKED_LINE = 40  # a line with at most this many points has a marker on each
SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
STYLE = {"svg.fonttype": "none", "svg.hashsalt": "seedwise", "font.sans-serif": ["DejaVu Sans"], "font.size": 9}
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def read(folder: Path, config_id: str, replicate: int) -> list[dict]:
    """The pictures of a run; an empty list if the run drew none."""
    from seedwise.trainables.pictures import checked

    path = pictures_of(folder, config_id, replicate)
    if not path.exists():
        return []
    try:
        return checked(json.loads(path.read_text(encoding="utf-8")))
    except ValueError as error:
        raise RequestError(str(path), f"it does not hold valid pictures ({error})", "Delete this file.") from error


def svg(picture: dict, prefix: str = "") -> str:
    """Draw one picture that `checked` returned as a self-contained SVG; the same picture gives the same bytes.

    Text stays text in any script, since the viewer has the fonts. `prefix` is put before every id, so that several
    pictures can share a page.
    """
    from matplotlib import style

    with warnings.catch_warnings(), style.context(["default", STYLE]):
        warnings.simplefilter("ignore")  # about glyphs that matplotlib's own font lacks, and empty axes
        figure, file = _figure(picture), io.StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
    return _embeddable(file.getvalue(), picture, prefix)


def plain(text: str) -> str:
    """The text without characters that XML and HTML forbid."""
    return NOT_XML.sub("\ufffd", text)


def _figure(picture: dict) -> "Figure":  # noqa: F821 (imported where it is needed)
    """A figure with all panels and one legend: a name has the same colour in every panel."""
    from matplotlib.figure import Figure

    panels = picture["panels"]
    columns = min(picture["columns"], len(panels))
    rows = -(-len(panels) // columns)
    width, height = (PANEL[0] * columns, PANEL[1] * rows) if len(panels) > 1 else SINGLE_PANEL
    figure = Figure((width, height), layout="constrained")
    figure.suptitle(_literal(picture["title"]), fontsize=11)
    grid = figure.add_gridspec(rows, columns)
    names = list(dict.fromkeys(series["name"] for panel in panels for series in panel["series"]))
    legend: dict[tuple, object] = {}
    for number, panel in enumerate(panels):
        axes = figure.add_subplot(grid[divmod(number, columns)])
        axes.grid(color="#e5e5e5", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.margins(0.08)
        for index, series in enumerate(panel["series"]):
            line = _draw(axes, series, names.index(series["name"]), f"panel-{number}", index)
            legend.setdefault((series["name"], series["kind"], series["dashed"]), line)
        _label_points(axes, panel["series"])
        if all(value == round(value) for series in panel["series"] for value in series["x"]):
            axes.xaxis.get_major_locator().set_params(integer=True)  # there is no epoch 1.5
        axes.set_title(_literal(fill(panel["title"], round(width / columns / CHARACTER))), fontsize=9.5)
        axes.set(xlabel=_literal(panel["x"]), ylabel=_literal(panel["y"]))
        if panel["log"]:
            axes.set_yscale("log")
    named = [(line, _literal(name)) for (name, *_), line in legend.items() if name.strip()]
    if named:
        fitting = int(width / (CHARACTER * (6 + max(len(name) for _, name in named))))
        columns = min(len(named), max(1, fitting))
        figure.legend(*zip(*named, strict=True), loc="outside lower center", ncols=columns, frameon=False)
    return figure


def _draw(axes: "Axes", series: dict, rank: int, panel: str, index: int) -> "Line2D":  # noqa: F821
    """Draw a series and the band behind it. `rank`, of its name among all names, decides colour and marker."""
    colour, marker = PALETTE[rank % len(PALETTE)], MARKERS[rank % len(MARKERS)]
    if series["low"]:
        edges = series["x"], series["low"], series["high"]
        axes.fill_between(*edges, color=colour, alpha=0.18, linewidth=0).set_gid(f"{panel}-band-{index}")
    if series["kind"] == "points":
        look = {"linestyle": "none", "marker": marker, "markersize": 4, "markeredgewidth": 0, "alpha": 0.8}
    else:
        dots = {"marker": marker, "markersize": 3} if len(series["x"]) <= MARKED_LINE else {}
        look = {"linestyle": "--" if series["dashed"] else "-", "linewidth": 1.5, **dots}
    (line,) = axes.plot(series["x"], series["y"], color=colour, gid=f"{panel}-series-{index}", **look)
    return line


def _label_points(axes: "Axes", panel: list[dict]) -> None:  # noqa: F821
    """Write labels beside points; if there are too many labels, an even sample of them."""
    labels = [
        (point, " ".join(label.split())[:MAX_LABEL_LENGTH])
        for series in panel
        for *point, label in zip(series["x"], series["y"], series["labels"] or [""] * len(series["x"]), strict=True)
        if label.strip()
    ]
    look = {"fontsize": 6.5, "color": "#333333", "in_layout": False}
    for point, label in labels[:: -(-len(labels) // MAX_LABELS) or 1]:
        axes.annotate(_literal(label), point, xytext=(3, 2), textcoords="offset points", **look)


def _literal(text: str) -> str:
    """The text escaped for matplotlib, which would set text between dollar signs as a formula, or fail."""
    return plain(text).replace("$", r"\$")


def _embeddable(drawn: str, picture: dict, prefix: str) -> str:
    """Matplotlib's SVG, with a title and a description added and all that would affect the page removed."""
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", XLINK)
    root = ElementTree.fromstring(drawn)
    for child in list(root):
        if child.tag.endswith("metadata") or child.find(f"{{{SVG}}}style") is not None:
            root.remove(child)
    root.attrib |= {"role": "img", "style": "stroke-linejoin: round; stroke-linecap: butt"}  # of the style sheet
    for position, (tag, text) in enumerate((("title", picture["title"]), ("desc", picture["text"]))):
        element = ElementTree.Element(f"{{{SVG}}}{tag}")
        element.text = plain(text)
        root.insert(position, element)
    for element in root.iter():
        for name, value in element.attrib.items():
            if name == "id":
                element.set(name, prefix + value)
            elif "#" in value and name in (f"{{{XLINK}}}href", "clip-path"):
                element.set(name, value.replace("#", f"#{prefix}"))
    return ElementTree.tostring(root, encoding="unicode") + "\n"
