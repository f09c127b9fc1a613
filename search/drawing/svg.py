"""Pictures that methods draw of their runs: read from a search folder, and drawn as SVG."""

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
MARKERS = "os^DvPX"  # shapes beside colours, for whoever does not see these
SURFACE = ("#fdf3dc", "#a9d0e8", "#3a8fc0")  # of heights, from low to high; black text can be read on all
LIGHT = {"boxstyle": "square,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.7}  # below texts on one
PANEL, ALONE = (3.6, 2.8), (6.4, 3.8)  # inches of one panel among several, and of a single one
MOST_LABELS, LONGEST_LABEL = 40, 30  # per panel; more cannot be read
LETTER = 0.085  # inches that a letter takes on average, generously
LEVELS = 10  # contours of a surface, at most
FEW = 40  # a line of so many points shows them
SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
STYLE = {"svg.fonttype": "none", "svg.hashsalt": "seedwise", "font.sans-serif": ["DejaVu Sans"], "font.size": 9}
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def read(folder: Path, config_id: str, replicate: int) -> list[dict]:
    """The pictures of a run; none where it has not drawn any."""
    from seedwise.trainables.pictures import checked

    path = pictures_of(folder, config_id, replicate)
    if not path.exists():
        return []
    try:
        return checked(json.loads(path.read_text(encoding="utf-8")))
    except ValueError as error:
        raise RequestError(str(path), f"these are no pictures ({error})", "Delete that file.") from error


def svg(picture: dict, prefix: str = "") -> str:
    """One picture of `Method.pictures` as an SVG that needs nothing else, the same bytes each time.

    Its text stays text, in whatever script: the viewer has the fonts. `prefix` is put before every id, so that several
    can stand in one page.
    """
    from matplotlib import style

    with warnings.catch_warnings(), style.context(["default", STYLE]):
        warnings.simplefilter("ignore")  # about glyphs that matplotlib's own font lacks, and empty axes
        figure, file = _figure(picture), io.StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
    return _own(file.getvalue(), picture, prefix)


def plain(text: str) -> str:
    """The text without letters that no XML or HTML may hold."""
    return NOT_XML.sub("\ufffd", text)


def _figure(picture: dict) -> "Figure":  # noqa: F821 (imported where it is needed)
    """The panels in their rows, and one legend for all: a name has the same colour wherever it is."""
    from matplotlib.figure import Figure

    panels = picture["panels"]
    columns = min(picture["columns"], len(panels))
    rows = -(-len(panels) // columns)
    width, height = (PANEL[0] * columns, PANEL[1] * rows) if len(panels) > 1 else ALONE
    figure = Figure((width, height), layout="constrained")
    figure.suptitle(_text(picture["title"]), fontsize=11)
    names = dict.fromkeys(one["name"] for panel in panels for one in panel["series"])
    places = {name: place for place, name in enumerate(names)}
    legend: dict[tuple, object] = {}
    every = _axes(figure, rows, columns, len(panels))
    _surfaces(figure, panels, every)
    for number, (panel, axes) in enumerate(zip(panels, every, strict=True)):
        for index, one in enumerate(panel["series"]):
            if one.get("low"):
                _band(axes, one, places[one["name"]]).set_gid(f"panel-{number}-band-{index}")
            line = _series(axes, one, places[one["name"]])
            if panel.get("surface"):
                line.set(markeredgecolor="white", markeredgewidth=1, markersize=7, alpha=1)
            line.set_gid(f"panel-{number}-series-{index}")
            legend.setdefault((one["name"], one["kind"], bool(one.get("dashed"))), line)
        _labels(axes, panel["series"], ground=LIGHT if panel.get("surface") else None)
        across = [value for one in (*panel["series"], panel.get("surface") or {"x": []}) for value in one["x"]]
        if all(value == round(value) for value in across):
            axes.xaxis.get_major_locator().set_params(integer=True)  # there is no epoch 1.5
        axes.set_title(_text(fill(panel["title"], round(width / columns / LETTER))), fontsize=9.5)
        axes.set(xlabel=_text(panel["x"]), ylabel=_text(panel["y"]))
        if panel.get("log"):
            axes.set_yscale("log")
    named = [(line, _text(key[0])) for key, line in legend.items() if key[0].strip()]
    if named:
        fitting = int(width / (LETTER * (6 + max(len(name) for _, name in named))))
        columns = min(len(named), max(1, fitting))
        figure.legend(*zip(*named, strict=True), loc="outside lower center", ncols=columns, frameon=False)
    return figure


def _axes(figure: "Figure", rows: int, columns: int, panels: int) -> list:  # noqa: F821
    """As many as there are panels: the last row may have fewer."""
    grid = figure.add_gridspec(rows, columns)
    found = [figure.add_subplot(grid[number // columns, number % columns]) for number in range(panels)]
    for axes in found:
        axes.grid(color="#e5e5e5", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.margins(0.08)
    return found


def _surfaces(figure: "Figure", panels: list[dict], every: list) -> None:  # noqa: F821
    """Filled contours with labelled lines. All surfaces of a picture have one scale, so that they can be compared."""
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.ticker import MaxNLocator

    drawn = [(number, panel["surface"]) for number, panel in enumerate(panels) if panel.get("surface")]
    if not drawn:
        return
    heights = [value for _, surface in drawn for row in surface["z"] for value in row]
    levels = MaxNLocator(LEVELS).tick_values(min(heights), max(heights))
    colours = LinearSegmentedColormap.from_list("heights", SURFACE)
    for number, surface in drawn:
        axes, grid = every[number], (surface["x"], surface["y"], surface["z"])
        filled = axes.contourf(*grid, levels=levels, cmap=colours)
        filled.set_gid(f"panel-{number}-surface")
        lines = axes.contour(*grid, levels=levels, colors="#5b6770", linewidths=0.5)
        axes.clabel(lines, fontsize=6.5, colors="#111111", zorder=1.9)  # below the points
        axes.margins(0)
    figure.colorbar(filled, ax=[every[number] for number, _ in drawn], shrink=0.9, aspect=30)


def _band(axes: "Axes", one: dict, place: int) -> "PolyCollection":  # noqa: F821
    colour = PALETTE[place % len(PALETTE)]
    return axes.fill_between(one["x"], one["low"], one["high"], color=colour, alpha=0.18, linewidth=0)


def _series(axes: "Axes", one: dict, place: int) -> "Line2D":  # noqa: F821
    colour, marker = PALETTE[place % len(PALETTE)], MARKERS[place % len(MARKERS)]
    if one["kind"] == "points":
        look = {"linestyle": "none", "marker": marker, "markersize": 4, "markeredgewidth": 0, "alpha": 0.8}
    else:
        dots = {"marker": marker, "markersize": 3} if len(one["x"]) <= FEW else {}
        look = {"linestyle": "--" if one.get("dashed") else "-", "linewidth": 1.5, **dots}
    return axes.plot(one["x"], one["y"], color=colour, **look)[0]


def _labels(axes: "Axes", series: list[dict], ground: dict | None) -> None:  # noqa: F821
    """Texts beside points, on a ground where they need one; of too many, some from all over."""
    found = [
        (point, " ".join(label.split())[:LONGEST_LABEL])
        for one in series
        for *point, label in zip(one["x"], one["y"], one.get("labels") or [""] * len(one["x"]), strict=True)
        if label.strip()
    ]
    look = {"fontsize": 8 if ground else 6.5, "color": "#333333", "in_layout": False, "bbox": ground}
    beside = (5, 4) if ground else (3, 2)
    for point, label in found[:: -(-len(found) // MOST_LABELS) or 1]:
        axes.annotate(_text(label), point, xytext=beside, textcoords="offset points", **look)


def _text(text: str) -> str:
    """A text that matplotlib takes as it is: a formula between dollars would be set, or fail."""
    return plain(text).replace("$", r"\$")


def _own(drawn: str, picture: dict, prefix: str) -> str:
    """Matplotlib's SVG with a title and a description, and without what would reach into a page that it stands in."""
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", XLINK)
    root = ElementTree.fromstring(drawn)
    for child in [one for one in root if one.tag.endswith("metadata") or one.find(f"{{{SVG}}}style") is not None]:
        root.remove(child)
    root.attrib |= {"role": "img", "style": "stroke-linejoin: round; stroke-linecap: butt"}  # that of the style sheet
    for place, (name, text) in enumerate((("title", picture["title"]), ("desc", picture["text"]))):
        element = ElementTree.Element(f"{{{SVG}}}{name}")
        element.text = plain(text)
        root.insert(place, element)
    for element in root.iter():
        for name, value in element.attrib.items():
            if name == "id":
                element.set(name, prefix + value)
            elif "#" in value and name in (f"{{{XLINK}}}href", "clip-path"):
                element.set(name, value.replace("#", f"#{prefix}"))
    return ElementTree.tostring(root, encoding="unicode") + "\n"
