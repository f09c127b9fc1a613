"""Charts that are alike but for what they show: the reader chooses which of them is seen."""

import json

from seedwise.search.drawing.chart import Chart, escaped


def choosable(charts: list[Chart]) -> str:
    """Charts side by side below one row of buttons for each key of their `when`; at first, the first chart's is chosen.

    A chart is shown where all that it says of itself is chosen. Keys with a single value have no buttons. The buttons
    are the browser's own, outside the charts: those that plotly draws cannot be reached without a mouse.
    """
    keys = list(dict.fromkeys(key for chart in charts for key in chart.when))
    options = {key: list(dict.fromkeys(chart.when[key] for chart in charts if key in chart.when)) for key in keys}
    chosen = {key: values[0] for key, values in options.items()} | charts[0].when
    names = {key: f"choice-{charts[0].name}-{place}" for place, key in enumerate(keys)}
    rows = [
        _buttons(key, names[key], values, values.index(chosen[key]))
        for key, values in options.items()
        if len(values) > 1
    ]
    figures = []
    for chart in charts:
        # Numbers, since what people wrote may have letters that a page has not.
        when = {
            names[key]: str(options[key].index(value)) for key, value in chart.when.items() if len(options[key]) > 1
        }
        hidden = "" if chart.when.items() <= chosen.items() else ' hidden="hidden"'
        figures.append(chart.html(f' data-when="{escaped(json.dumps(when))}"{hidden}'))
    buttons = f'<div class="choices">{"".join(rows)}</div>\n' if rows else ""
    return "\n".join([f'<div class="choosable">\n{buttons}<div class="pairs">', *figures, "</div>\n</div>"])


def _buttons(key: str, name: str, values: list[str], checked: int) -> str:
    found = []
    for place, value in enumerate(values):
        mark = ' checked="checked"' if place == checked else ""
        button = f'<input type="radio" name="{name}" value="{place}"{mark}/>'
        found.append(f"<label>{button}<span>{escaped(value)}</span></label>")
    return f"<fieldset><legend>{escaped(key)}</legend>{''.join(found)}</fieldset>"
