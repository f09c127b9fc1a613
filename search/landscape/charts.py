"""Interactive charts of a landscape: curves, variance, lines between seeds, random directions. Planes: `planes`."""

from collections.abc import Iterator
from dataclasses import replace

from seedwise.search.drawing.chart import LEGEND, Chart, label
from seedwise.search.landscape import captions, traces
from seedwise.search.landscape.captions import LOSS, NORMALISED, SCORE, languages, measure, model
from seedwise.search.landscape.planes import planes
from seedwise.search.landscape.statistics import KEPT
from seedwise.search.landscape.traces import edges, span
from seedwise.text import number
from seedwise.trainables.landscape.jobs import ALL, BOTH, SOURCE, TARGET

MAX_NAMED = 6  # a chart with more pairs of seeds has no legend


def groups(numbers: dict) -> list[tuple[str, str, list[Chart]]]:
    """Groups of charts, each as (key, title, charts). Groups without charts are left out."""
    titled = [
        ("lines", "From a model of one language to the model of both", lines(numbers)),
        ("variance", "Variance between seeds along the lines", variance(numbers)),
        ("planes", "The plane of the three models", planes(numbers)),
        ("seeds", "Between seeds", seeds(numbers)),
        ("around", "Around the models", around(numbers)),
    ]
    # Chart names become ids in the page, so they are numbered: a language's name may not be a valid id.
    named = (
        (key, title, [replace(chart, name=f"landscape-{key}-{index}") for index, chart in enumerate(charts)])
        for key, title, charts in titled
    )
    return [group for group in named if group[2]]


def lines(numbers: dict) -> Iterator[Chart]:
    """Curves from the model of one language (a = 0) to the model of both (a = 1), with bands over replicates."""
    for line, name, curves in _measured(numbers, (SCORE, NORMALISED, LOSS), "mean"):
        on, target, x = line["on"], line["target"], line["points"]
        data, thin, texts = [], [], []
        for rank, (language, curve) in enumerate(curves.items()):
            mean = curve["mean"]
            data += traces.with_band(language, x, curve, rank)
            thin += traces.singles(language, x, curve, rank)
            inside = [value for a, value in zip(x, mean, strict=True) if 0 <= a <= 1]
            texts.append(
                f"{language} {number(mean[x.index(0.0)])} at 0, {number(mean[x.index(1.0)])} at 1, "
                f"between {number(min(inside))} and {number(max(inside))} on the way"
            )
        if thin:
            thin[0]["showlegend"] = True  # one entry switches the replicates of all languages on
        what = f"mean of {captions.averaged_over(curves.values())}: {'; '.join(texts)}"
        zero_shot = " (zero-shot)" if on == SOURCE else ""
        start = f"a = 0 is {model(numbers, on, target)}{zero_shot}, a = 1 is {model(numbers, BOTH, target)}. "
        caption = (
            f"{captions.mean_and_band(curves.values())} "
            f"{'Single replicates can be switched on in the legend. ' if thin else ''}"
            f"{'Every score is divided by the score of its own model of both. ' if name == NORMALISED else ''}"
        )
        shown = [
            value
            for curve in _comparable(numbers, target, name)
            for values in (*edges(curve), *curve["replicates"].values())
            for value in values
            if value is not None
        ]
        y = traces.axis(measure(numbers, name), range=span(shown))
        yield _along(numbers, line, name, (measure(numbers, name), what), (start, caption), [*data, *thin], y)


def variance(numbers: dict) -> Iterator[Chart]:
    """The variance over replicates along the lines, which shows where seeds agree and where they differ."""
    for line, name, curves in _measured(numbers, (SCORE, NORMALISED), "variance"):
        x, data, texts = line["points"], [], []
        for rank, (language, curve) in enumerate(curves.items()):
            values = curve["variance"]
            hover = [f"{language}: variance {v:.2g} (sd {v**0.5:.4f}) at {a:g}" for a, v in zip(x, values, strict=True)]
            data.append(traces.curve(language, x, values, rank, hover))
            top = max(range(len(x)), key=values.__getitem__)
            start, end = values[x.index(0.0)], values[x.index(1.0)]
            texts.append(f"{language} {start:.2g} at 0, {end:.2g} at 1, most {values[top]:.2g} at {x[top]:g}")
        count = captions.averaged_over(curves.values())
        caption = f"Sample variance over {count} at every point; with so few it is itself uncertain. "
        highest = max(value for curve in _comparable(numbers, line["target"], name) for value in curve["variance"])
        y = traces.axis("variance over replicates", range=span([0.0, highest]), exponentformat="e")
        text = f"variance of {measure(numbers, name)}", f"over {count}: {'; '.join(texts)}"
        yield _along(numbers, line, name, text, (caption, ""), data, y)


def seeds(numbers: dict) -> Iterator[Chart]:
    """Lines between the source models of two replicates, one chart per language."""
    for target in dict.fromkeys(line["target"] for line in numbers["seeds"]):
        pairs = [line for line in numbers["seeds"] if line["target"] == target]
        known = languages(numbers, target, (language for line in pairs for language in line["curves"]))
        for name, height in ((SCORE, "barrier"), (LOSS, "loss_barrier")):
            for language in known:
                curves = [(line, line["curves"][language]) for line in pairs if language in line["curves"]]
                barriers = [(line, curve[name], curve[height]) for line, curve in curves if curve[height] is not None]
                if barriers:
                    yield _seeds(numbers, target, language, name, barriers)


def _seeds(numbers: dict, target: str, language: str, name: str, curves: list[tuple]) -> Chart:
    """A chart of lines between pairs of seeds. `curves` has (line, values, barrier) for each pair."""
    data, texts = [], []
    for rank, (line, y, barrier) in enumerate(curves):
        pair, x = "seeds {} and {}".format(*line["replicates"]), line["points"]
        hover = [f"{pair}, barrier {number(barrier)}: {value:.4f} at {a:g}" for a, value in zip(x, y, strict=True)]
        named = {"showlegend": len(curves) <= MAX_NAMED, "legendgroup": pair}
        data.append(traces.curve(f"{pair}: barrier {number(barrier)}", x, y, rank, hover, **named))
        straight = data[-1] | {"name": f"{pair}, straight", "mode": "lines", "hoverinfo": "skip", "showlegend": False}
        straight |= {"x": [0.0, 1.0], "y": [y[x.index(end)] for end in (0.0, 1.0)]}
        data.append(straight | {"line": straight["line"] | traces.THIN, "text": [], "hovertemplate": ""})
        texts.append(f"{pair} {number(barrier)}")
    measured, way = measure(numbers, name), "below" if name == SCORE else "above"
    text = f"{measured} in {language} on the lines between source models of two seeds; barriers: {', '.join(texts)}."
    caption = (
        f"a = 0 and a = 1 are the two models. A barrier is how far the curve goes {way} the straight line between them "
        f"(dotted): {number(max(barrier for *_, barrier in curves))} at most. Nothing was trained on target labels. On "
        f"dev sets; {captions.UNUSED}"
    )
    y = traces.axis(measured, range=span(value for _, y, _ in curves for value in y))
    layout = traces.between("a, from one source model to another", ("first seed", "second seed"), y)
    when = ({"target": target} if target else {}) | {"measure": measured}
    return Chart("", captions.titled(numbers, language), text, caption, data, layout, when=when)


def around(numbers: dict) -> Iterator[Chart]:
    """The share of its score that a model keeps if it is moved in random directions, one chart per language."""
    targets = dict.fromkeys(around["target"] for around in numbers["around"])
    for target in [target for target in targets if target] or [*targets]:  # source models may serve all targets: ""
        near = {around["on"]: around for around in numbers["around"] if around["target"] in ("", target)}
        for language in languages(numbers, target, (name for around in near.values() for name in around["kept"])):
            kept = {on: around for on, around in near.items() if around["kept"].get(language, {"mean": []})["mean"]}
            if kept:
                yield _around(numbers, target, language, kept)


def _around(numbers: dict, target: str, language: str, near: dict[str, dict]) -> Chart:
    """`near` maps what a model was trained on to the curves around that model."""
    data, texts = [], []
    for rank, on in enumerate((SOURCE, TARGET, BOTH)):
        if on in near:
            points, name = near[on]["points"], model(numbers, on, target)
            data += traces.with_band(name, points, near[on]["kept"][language], rank)
            texts.append(f"{captions.radius_in_words(near[on]['radius'][language], points)} around {name}")
    kept = f"{100 * KEPT:g} % of the score is kept within a radius of {', '.join(texts)}."
    text = f"{numbers['metric']} in {language} around trained models, as a share of the model's own. {kept}"
    caption = (
        f"{kept} The dotted line is that share. The radius is in lengths of the model's own filters, both ways. "
        f"{captions.mean_and_band((around['kept'][language] for around in near.values()), captions.RUNS)} "
        f"{captions.analysis(target) if {TARGET, BOTH} & near.keys() else f'On dev sets; {captions.UNUSED}'}"
    )
    comparable = (around["kept"].values() for around in numbers["around"] if around["target"] in ("", target))
    shown = (value for curves in comparable for curve in curves for edge in edges(curve) for value in edge)
    layout = {"xaxis": traces.axis("radius along random directions"), "legend": LEGEND}
    layout |= {"yaxis": traces.axis("share of its own score", range=span([KEPT, *shown]))}
    layout["shapes"] = [traces.mark(x0=0, x1=1, y0=KEPT, y1=KEPT, xref="paper")]
    return Chart("", captions.titled(numbers, language), text, caption, data, layout, when={"target": target})


def _measured(numbers: dict, names: tuple[str, ...], needed: str) -> Iterator[tuple[dict, str, dict[str, dict]]]:
    """Yield (line, measure, curves by language), for the curves that have what is `needed`: a mean or a variance."""
    for name in names:
        for line in numbers["lines"]:
            known = {language: curves[name] for language, curves in line["curves"].items() if curves[name][needed]}
            if known:
                yield line, name, {key: known[key] for key in languages(numbers, line["target"], known)}


def _along(
    numbers: dict, line: dict, name: str, text: tuple[str, str], caption: tuple[str, str], data: list[dict], y: dict
) -> Chart:
    """A chart along a line. `text` and `caption` are what this chart says before and after the parameters moved."""
    on, target, part = line["on"], line["target"], line["part"]
    start, end = model(numbers, on, target), model(numbers, BOTH, target)
    ends = f"{label(numbers['source'] if on == SOURCE else target)} only", "both" if part == ALL else f"{part} of both"
    title, moved = f"From {start} to {end}", captions.PARTS[part]
    return Chart(
        "",
        title,
        f"{title}, {text[0]}, {moved}, {text[1]}.",
        f"{caption[0]}{captions.moved(numbers, part, on, target)} {caption[1]}{captions.analysis(target)}",
        data,
        traces.between(f"a, from {start} to {end}", ends, y),
        when={"target": target, "moved": moved, "measure": measure(numbers, name)},
    )


def _comparable(numbers: dict, target: str, name: str) -> Iterator[dict]:
    """The curves of all lines of a target. Their charts share one range, so that they can be compared."""
    for line in numbers["lines"]:
        if line["target"] == target:
            yield from (curves[name] for curves in line["curves"].values())
