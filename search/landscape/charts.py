"""Interactive charts of a landscape: curves, variance, what lies between seeds and around models. Planes: `planes`."""

from collections.abc import Iterator
from dataclasses import replace

from seedwise.search.drawing.chart import LEGEND, Chart
from seedwise.search.landscape import looks, traces
from seedwise.search.landscape.looks import LOSS, NORMALISED, SCORE, edges, languages, measure, model, span
from seedwise.search.landscape.planes import planes
from seedwise.search.landscape.statistics import KEPT
from seedwise.text import number
from seedwise.trainables.landscape.jobs import BOTH, SOURCE, TARGET

NAMED = 6  # pairs of seeds; more would make a legend that nobody reads


def groups(numbers: dict) -> list[tuple[str, str, list[Chart]]]:
    """Charts that belong together: key, title, charts; those without any are left out."""
    titled = [
        ("lines", "From a model of one language to that of both", lines(numbers)),
        ("variance", "Variance between seeds on the way", variance(numbers)),
        ("planes", "The plane of the three models", planes(numbers)),
        ("seeds", "Between seeds", seeds(numbers)),
        ("around", "Around the models", around(numbers)),
    ]
    found = []
    for key, title, some in titled:
        # Numbers, not languages, since a name stands in an id.
        named = [replace(chart, name=f"landscape-{key}-{place}") for place, chart in enumerate(some)]
        found += [(key, title, named)] if named else []
    return found


def lines(numbers: dict) -> Iterator[Chart]:
    """Curves from the model of one language (a = 0) to that of both (a = 1), with bands over replicates."""
    return (_line(numbers, *one) for one in _known(numbers, (SCORE, NORMALISED, LOSS), "mean"))


def _line(numbers: dict, line: dict, name: str, curves: dict[str, dict]) -> Chart:
    on, target, part, x = line["on"], line["target"], line["part"], line["points"]
    known = languages(numbers, target, curves)
    data, told = [], []
    for index, language in enumerate(known):
        mean = curves[language]["mean"]
        data += traces.with_band(language, x, curves[language], index)
        inside = [value for a, value in zip(x, mean, strict=True) if 0 <= a <= 1]
        told.append(
            f"{language} {number(mean[x.index(0.0)])} at 0, {number(mean[x.index(1.0)])} at 1, "
            f"between {number(min(inside))} and {number(max(inside))} on the way"
        )
    thin = [traces.singles(one, x, curves[one], index, first=index == 0) for index, one in enumerate(known)]
    data += [trace for some in thin for trace in some]
    title = _title(numbers, line)
    text = (
        f"{title}, {measure(numbers, name)}, {looks.PARTS[part]}, mean of {looks.over(curves.values())}: "
        f"{'; '.join(told)}."
    )
    caption = (
        f"a = 0 is {model(numbers, on, target)}{' (zero-shot)' if on == SOURCE else ''}, a = 1 that of both. "
        f"{looks.moved(numbers, part, on, target)} {looks.mean_of(curves.values())} "
        f"{'Single replicates can be switched on in the legend. ' if any(thin) else ''}"
        f"{'Every replicate is divided by the score of its own model of both. ' if name == NORMALISED else ''}"
        f"{looks.analysis(target)}"
    )
    # One range for all parts and both lines of a target, so that they can be compared.
    drawn = [of for curve in _alike(numbers, target, name) for of in (*edges(curve), *curve["replicates"].values())]
    shown = [value for of in drawn for value in of if value is not None]
    layout = traces.along(numbers, line, traces.axis(measure(numbers, name), range=span(shown)))
    return Chart("", title, text, caption, data, layout, when=_when(numbers, line, name))


def variance(numbers: dict) -> Iterator[Chart]:
    """The variance over replicates along the lines: where seeds agree, and where not."""
    return (_variance(numbers, *one) for one in _known(numbers, (SCORE, NORMALISED), "variance"))


def _variance(numbers: dict, line: dict, name: str, curves: dict[str, dict]) -> Chart:
    on, target, part, x = line["on"], line["target"], line["part"], line["points"]
    data, told = [], []
    for index, language in enumerate(languages(numbers, target, curves)):
        values = curves[language]["variance"]
        said = [f"{language}: variance {v:.2g} (sd {v**0.5:.4f}) at {a:g}" for a, v in zip(x, values, strict=True)]
        data.append(traces.curve(language, x, values, index, said))
        most = max(range(len(x)), key=values.__getitem__)
        ends = (values[x.index(end)] for end in (0.0, 1.0))
        told.append("{} {:.2g} at 0, {:.2g} at 1, most {:.2g} at {:g}".format(language, *ends, values[most], x[most]))
    title, count = _title(numbers, line), looks.over(curves.values())
    text = f"{title}, variance of {measure(numbers, name)}, {looks.PARTS[part]}, over {count}: {'; '.join(told)}."
    caption = (
        f"Sample variance over {count} at every point; of so few it is itself uncertain. "
        f"{looks.moved(numbers, part, on, target)} {looks.analysis(target)}"
    )
    highest = max(value for curve in _alike(numbers, target, name) for value in curve["variance"])
    y = traces.axis("variance over replicates", range=span([0.0, highest]), exponentformat="e")
    return Chart("", title, text, caption, data, traces.along(numbers, line, y), when=_when(numbers, line, name))


def seeds(numbers: dict) -> Iterator[Chart]:
    """Lines between the source models of two replicates, one chart per language."""
    for target in dict.fromkeys(one["target"] for one in numbers["seeds"]):
        pairs = [one for one in numbers["seeds"] if one["target"] == target]
        known = languages(numbers, target, (name for one in pairs for name in one["curves"]))
        for name, height in ((SCORE, "barrier"), (LOSS, "loss_barrier")):
            for language in known:
                curves = [(one, one["curves"][language]) for one in pairs if language in one["curves"]]
                heights = [(one, of[name], of[height]) for one, of in curves if of[height] is not None]
                if heights:
                    yield _seeds(numbers, target, language, name, heights)


def _seeds(numbers: dict, target: str, language: str, name: str, curves: list[tuple]) -> Chart:
    """`curves` are pairs of replicates with their curve and its barrier."""
    data, told = [], []
    for index, (one, y, height) in enumerate(curves):
        pair, x = "seeds {} and {}".format(*one["replicates"]), one["points"]
        said = [f"{pair}, barrier {number(height)}: {value:.4f} at {a:g}" for a, value in zip(x, y, strict=True)]
        named = {"showlegend": len(curves) <= NAMED, "legendgroup": pair}
        data.append(traces.curve(f"{pair}: barrier {number(height)}", x, y, index, said, **named))
        straight = data[-1] | {"name": f"{pair}, straight", "mode": "lines", "hoverinfo": "skip", "showlegend": False}
        straight |= {"x": [0.0, 1.0], "y": [y[x.index(end)] for end in (0.0, 1.0)]}
        data.append(straight | {"line": straight["line"] | traces.THIN, "text": [], "hovertemplate": ""})
        told.append(f"{pair} {number(height)}")
    of, way = measure(numbers, name), "below" if name == SCORE else "above"
    text = f"{of} in {language} on the lines between source models of two seeds; barriers: {', '.join(told)}."
    caption = (
        f"a = 0 and a = 1 are the two models. A barrier is how far the curve goes {way} the straight line between them "
        f"(dotted): {number(max(height for *_, height in curves))} at most. Nothing was trained on target labels. On "
        "dev sets; nothing here selects anything."
    )
    y = traces.axis(of, range=span(value for _, y, _ in curves for value in y))
    layout = traces.between("a, from one source model to another", ("0<br>first seed", "1<br>second seed"), y)
    when = ({"target": target} if target else {}) | {"measure": of}
    return Chart("", looks.titled(numbers, language), text, caption, data, layout, when=when)


def around(numbers: dict) -> Iterator[Chart]:
    """What share of its score a model keeps when it is moved in random directions, one chart per language."""
    for target in looks.targets_of(numbers["around"]):
        near = {one["on"]: one for one in numbers["around"] if one["target"] in ("", target)}
        for language in languages(numbers, target, (name for one in near.values() for name in one["kept"])):
            kept = {on: one for on, one in near.items() if one["kept"].get(language, {"mean": []})["mean"]}
            if kept:
                yield _around(numbers, target, language, kept)


def _around(numbers: dict, target: str, language: str, near: dict[str, dict]) -> Chart:
    """`near` are curves by what the model in their middle was trained on."""
    data, told = [], []
    for index, on in enumerate((SOURCE, TARGET, BOTH)):
        if on in near:
            one = near[on]
            data += traces.with_band(model(numbers, on, target), one["points"], one["kept"][language], index)
            told.append(f"{looks.far(one['radius'][language], one['points'])} around {model(numbers, on, target)}")
    kept = f"{100 * KEPT:g} % of the score is kept within a radius of {', '.join(told)}."
    text = f"{numbers['metric']} in {language} around trained models, as a share of the model's own. {kept}"
    used = looks.analysis(target) if {TARGET, BOTH} & near.keys() else "On dev sets; nothing here selects anything."
    caption = (
        f"{kept} The dotted line is that share. The radius is in lengths of the model's own filters, to both sides. "
        f"{looks.mean_of((one['kept'][language] for one in near.values()), looks.RUNS)} {used}"
    )
    alike = [curve for one in numbers["around"] if one["target"] in ("", target) for curve in one["kept"].values()]
    shown = span([KEPT, *(value for curve in alike for edge in edges(curve) for value in edge)])
    layout = {"xaxis": traces.axis("radius along random directions"), "legend": LEGEND}
    layout |= {"yaxis": traces.axis("share of its own score", range=shown)}
    layout["shapes"] = [traces.mark(x0=0, x1=1, y0=KEPT, y1=KEPT, xref="paper")]
    return Chart("", looks.titled(numbers, language), text, caption, data, layout, when={"target": target})


def _known(numbers: dict, names: tuple[str, ...], what: str) -> Iterator[tuple[dict, str, dict[str, dict]]]:
    """Lines, measures, and the curves by language that have a mean or a variance, whichever is asked for."""
    for name in names:
        for line in numbers["lines"]:
            curves = {key: curve[name] for key, curve in line["curves"].items() if curve[name][what]}
            if curves:
                yield line, name, curves


def _title(numbers: dict, line: dict) -> str:
    return f"From {model(numbers, line['on'], line['target'])} to {model(numbers, BOTH, line['target'])}"


def _when(numbers: dict, line: dict, name: str) -> dict[str, str]:
    return {"target": line["target"], "moved": looks.PARTS[line["part"]], "measure": measure(numbers, name)}


def _alike(numbers: dict, target: str, name: str) -> Iterator[dict]:
    """The curves of all lines of a target."""
    for line in numbers["lines"]:
        if line["target"] == target:
            yield from (curve[name] for curve in line["curves"].values())
