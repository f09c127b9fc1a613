"""A table as plain data, rendered for a terminal, a page, Markdown, LaTeX and CSV."""

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.table import Table as RichTable
from rich.text import Text

from seedwise.search.drawing.chart import escaped
from seedwise.search.drawing.svg import plain

LATEX = {character: f"\\{character}" for character in "{}$&#%_"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    "[": "{[}",  # after the end of a row, LaTeX reads a bracket as an argument, and a star as the starred form
    "*": "{*}",
}


@dataclass(frozen=True)
class Column:
    """A column. `number` aligns it to the right, `long` lets texts wrap, `dim` greys metrics that do not rank."""

    name: str
    number: bool = False
    long: bool = False
    dim: bool = False


Cells = tuple[Column, Callable[[object], str]]  # a column, and a function for the text of a record in it


@dataclass(frozen=True)
class Table:
    """A table of texts. `sections` are groups of rows with a line between them; a row has a text for every column."""

    columns: Sequence[Column]
    sections: Sequence[Sequence[Sequence[str]]]
    title: str = ""
    notes: Sequence[str] = ()

    @classmethod
    def of(
        cls, cells: Sequence[Cells], sections: Iterable[Iterable[object]], *, title: str = "", notes: Sequence[str] = ()
    ) -> "Table":
        """A table of records; sections without records are left out."""
        rows = [[[text(record) for _, text in cells] for record in section] for section in sections]
        return cls([column for column, _ in cells], [section for section in rows if section], title, notes)

    @property
    def rows(self) -> list[Sequence[str]]:
        return [row for section in self.sections for row in section]

    @property
    def head(self) -> list[str]:
        return [column.name for column in self.columns]

    def rich(self) -> RichTable:
        """The table for a terminal. Cells are plain text, never markup."""
        title, caption = Text(self.title, "table.title"), Text("; ".join(self.notes), "table.caption")
        left = {"title_justify": "left", "caption_justify": "left"}
        table = RichTable(title=title, caption=caption, box=SIMPLE_HEAD, padding=0, pad_edge=False, **left)
        for column in self.columns:
            justify, style = "right" if column.number else "left", "dim" if column.dim else None
            table.add_column(Text(column.name), no_wrap=not column.long, justify=justify, style=style)
        for section in self.sections:
            for row in section:
                table.add_row(*map(Text, row))
            table.add_section()
        return table

    __rich__ = rich

    def html(self, *, chosen: int | None = None, links: Mapping[int, str] | None = None) -> str:
        """The table for a page, where it scrolls if it is too wide; title and notes go below the table.

        `chosen` is the number of the row to emphasise. `links` maps the number of a row to the id in the page that the
        row's first text links to.
        """
        kinds = ("number", "long", "dim")
        classes = [" ".join(kind for kind in kinds if getattr(column, kind)) for column in self.columns]
        lines, number = [], 0
        for section in self.sections:
            lines.append("<tbody>")
            for row in section:
                texts = list(map(escaped, row))
                if target := (links or {}).get(number):
                    first = next(index for index, column in enumerate(self.columns) if not column.number)
                    texts[first] = f'<a href="#{escaped(target)}">{texts[first]}</a>'
                lines.append(_line("td", texts, classes, ' class="chosen"' if number == chosen else ""))
                number += 1
            lines.append("</tbody>")
        head = _line("th", map(escaped, self.head), classes)
        remarks = "; ".join(filter(None, (self.title, *self.notes)))
        note = f'\n<p class="note">{escaped(remarks)}</p>' if remarks else ""
        return "\n".join([f'<div class="wide"><table>\n<thead>{head}</thead>', *lines, f"</table></div>{note}"])

    def markdown(self) -> str:
        """Head and rows for a model card or a description in MLflow, without title and notes."""
        rows = [self.head, ["---"] * len(self.columns), *self.rows]
        return "\n".join("| " + " | ".join(map(_markdown, row)) + " |" for row in rows)

    def csv(self) -> str:
        """Head and rows, without title and notes."""
        file = io.StringIO(newline="")
        csv.writer(file).writerows([self.head, *self.rows])
        return file.getvalue()

    def latex(self) -> str:
        """The table for a paper that uses the package booktabs."""
        alignment = "".join("r" if column.number else "l" for column in self.columns)
        parts = [[self.head], *self.sections]
        body = "\\midrule\n".join("".join(" & ".join(map(_latex, row)) + " \\\\\n" for row in part) for part in parts)
        caption = f"\\caption{{{_latex(self.title)}}}\n" if self.title else ""
        notes = f"\n{{\\footnotesize {_latex('; '.join(self.notes))}}}" if self.notes else ""
        return (
            f"\\begin{{table}}\n\\centering\n{caption}\\begin{{tabular}}{{{alignment}}}\n"
            f"\\toprule\n{body}\\bottomrule\n\\end{{tabular}}{notes}\n\\end{{table}}\n"
        )


def _line(tag: str, texts: Iterable[str], classes: Sequence[str], attributes: str = "") -> str:
    opened = [f'<{tag} class="{kind}">' if kind else f"<{tag}>" for kind in classes]
    cells = (f"{start}{text}</{tag}>" for start, text in zip(opened, texts, strict=True))
    return f"<tr{attributes}>{''.join(cells)}</tr>"


def _markdown(text: str) -> str:
    """A cell in a single line, with characters escaped that would end the cell."""
    return re.sub(r"([\\|])", r"\\\1", " ".join(plain(text).split())).replace("<", "&lt;")


def _latex(text: str) -> str:
    return "".join(LATEX.get(character, character) for character in " ".join(plain(text).split()))
