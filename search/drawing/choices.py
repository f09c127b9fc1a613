"""Groups of similar charts, with buttons for the reader to choose which charts to see."""

import json

from seedwise.search.drawing.chart import Chart, escaped


def choosable(charts: list[Chart]) -> str:
    """Charts side by side, below a row of buttons for each key of their `when`. At first, first values are chosen.

    A chart is visible if every value of its `when` is chosen. Keys with a single value have no buttons. The buttons
    are HTML inputs outside the charts, since buttons drawn by plotly cannot be reached without a mouse.
    """
    keys = dict.fromkeys(key for chart in charts for key in chart.when)
    options = {key: list(dict.fromkeys(chart.when[key] for chart in charts if key in chart.when)) for key in keys}
    names = {key: f"choice-{charts[0].name}-{number}" for number, key in enumerate(options) if len(options[key]) > 1}
    rows = [_buttons(key, name, options[key]) for key, name in names.items()]
    figures = []
    for chart in charts:
        # Values are numbered, since a user's words may have characters that a page must not have.
        chosen = {key: options[key].index(value) for key, value in chart.when.items() if key in names}
        when = json.dumps({names[key]: str(number) for key, number in chosen.items()})
        hidden = ' hidden="hidden"' if any(chosen.values()) else ""
        figures.append(chart.html(f' data-when="{escaped(when)}"{hidden}'))
    buttons = f'<div class="choices">{"".join(rows)}</div>\n' if rows else ""
    return "\n".join([f'<div class="choosable">\n{buttons}<div class="pairs">', *figures, "</div>\n</div>"])


def _buttons(key: str, name: str, values: list[str]) -> str:
    buttons = []
    for number, value in enumerate(values):
        checked = "" if number else ' checked="checked"'
        button = f'<input type="radio" name="{name}" value="{number}"{checked}/>'
        buttons.append(f"<label>{button}<span>{escaped(value)}</span></label>")
    return f"<fieldset><legend>{escaped(key)}</legend>{''.join(buttons)}</fieldset>"
