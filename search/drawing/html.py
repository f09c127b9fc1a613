"""The frame of a page that works offline: head, contents, sections, scripts."""

from collections.abc import Sequence
from pathlib import Path

from seedwise.search.drawing.chart import escaped

ASSETS = Path(__file__).with_name("assets")
# Nothing is loaded from the network, whatever the page contains.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:"


def frame(
    title: str, note: str, answer: Sequence[str], parts: Sequence[tuple[str, str, str]], *, even: bool = False
) -> str:
    """A whole page. Except for plotly's script it is well-formed XML, which any parser reads.

    `note` is the text below the title. `answer` are paragraphs of markup, the first in large type unless `even`.
    `parts` are sections: key, title, markup.
    """
    name = escaped(title)
    contents = [f'<li><a href="#{key}">{escaped(heading)}</a></li>' for key, heading, _ in parts]
    return "\n".join(
        [
            f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8"/>\n<title>{name}</title>',
            '<meta name="viewport" content="width=device-width, initial-scale=1"/>',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}"/>',
            f"<style>{_asset('page.css')}</style>\n</head>\n<body>\n<h1>{name}</h1>",
            f'<p class="note">{escaped(note)}</p>',
            f'<div class="answer{" even" if even else ""}">',
            *(f"<p>{paragraph}</p>" for paragraph in answer),
            "</div>",
            f'<nav aria-label="contents"><ul>{"".join(contents)}</ul></nav>' if parts else "",
            *(f'<section id="{key}">\n<h2>{escaped(heading)}</h2>\n{body}\n</section>' for key, heading, body in parts),
            *(_scripts() if parts else []),
            "</body>\n</html>\n",
        ]
    )


def _scripts() -> list[str]:
    from plotly.offline import get_plotlyjs

    return [f"<script>{get_plotlyjs()}</script>", f"<script>{_asset('page.js')}</script>"]


def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")
