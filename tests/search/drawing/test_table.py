"""A table in five formats, each read back by an independent parser."""

import csv
import io
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from seedwise.search.drawing.table import Column, Table

HOSTILE = [
    'a "quoted", cell',
    "a | b \\| c\\",
    "<b>&amp;</b></td></table><script>",
    "[red]no markup[/red] :smile:",
    "100 % of $x_1^2$ & #1 {~} \\begin{x}",
    "[2mm] *",
    "=cmd()",
    "naïve ± ꙮ 日本",
]
TABLE = Table(
    [Column("name"), Column("a | b", long=True), Column("n", number=True), Column("audit", number=True, dim=True)],
    [[["x", "y", "1", "0.5"]], [[text, text, "2", "-"] for text in HOSTILE]],
    title="ranked by a & b",
    notes=["= tied", "50 % <left>"],
)
HEAD = ["name", "a | b", "n", "audit"]
TEXTS = st.text(st.characters(blacklist_categories=["Cs"]), max_size=12)


def of(texts):
    return Table([Column("one"), Column("two")], [[[text, "end"]] for text in texts])


class Cells(HTMLParser):
    """The texts of all cells, row by row."""

    def __init__(self, text):
        super().__init__()
        self.rows = []
        self.tags = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data):
        if self.rows and self.tags[-1] in ("td", "th", "a"):
            self.rows[-1][-1] += data.strip("\n")


def markdown_cells(line):
    """Split a row at bars without a backslash, as GitHub's dialect says, and take the escapes out."""
    cells = re.findall(r"(?:\\.|[^|\\])+", line)
    return [re.sub(r"\\(.)", r"\1", cell.strip()).replace("&lt;", "<") for cell in cells]


def latex_cells(row):
    """Split a row at & without a backslash; take the escapes out."""
    names = {r"\textbackslash{}": "\\", r"\textasciitilde{}": "~", r"\textasciicircum{}": "^", r"$\pm$": "±"}
    names |= {r"\textless{}": "<", r"\textgreater{}": ">", r"\textbar{}": "|", "{[}": "[", "{*}": "*"}
    names |= {f"\\{letter}": letter for letter in "{}$&#%_"}
    pattern = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    cells = re.split(r"(?<!\\) & ", row.removesuffix(" \\\\"))
    return [re.sub(pattern, lambda match: names[match.group()], cell) for cell in cells]


def latex_rows(text):
    body = text.partition("\\toprule\n")[2].partition("\\bottomrule")[0]
    return [latex_cells(line) for line in body.splitlines() if line != "\\midrule"]


def test_csv_is_read_back_by_the_csv_module():
    assert list(csv.reader(io.StringIO(TABLE.csv(), newline=""))) == [HEAD, *TABLE.rows]


def test_html_is_read_back_by_the_html_parser_and_is_xml():
    page = TABLE.html(chosen=0, links={2: 'a"b'})
    parsed = Cells(page)
    assert parsed.rows == [HEAD, *TABLE.rows]
    assert "script" not in parsed.tags
    assert "b" not in parsed.tags
    root = ElementTree.fromstring(f"<div>{page}</div>")
    assert len(list(root.iter("tbody"))) == 2
    lines = list(root.iter("tr"))
    assert [line.get("class") for line in lines[:3]] == [None, "chosen", None]
    assert [cell.get("class") for cell in lines[1]] == [None, "long", "number", "number dim"]
    (link,) = root.iter("a")
    assert (link.get("href"), link.text) == ('#a"b', HOSTILE[1])
    assert root.find("p").text == "ranked by a & b; = tied; 50 % <left>"


def test_markdown_is_split_at_its_bars():
    lines = TABLE.markdown().splitlines()
    assert lines[1] == "| --- | --- | --- | --- |"
    assert [markdown_cells(line) for line in (lines[0], *lines[2:])] == [HEAD, *TABLE.rows]


def test_latex_has_rules_between_sections_and_every_special_escaped():
    text = TABLE.latex()
    assert latex_rows(text) == [HEAD, *TABLE.rows]
    assert "\\begin{tabular}{llrr}" in text
    assert text.count("\\midrule") == 2
    assert "\\caption{ranked by a \\& b}" in text
    assert "50 \\% \\textless{}left\\textgreater{}" in text


def test_the_terminal_shows_cells_as_they_are():
    console = Console(file=io.StringIO(), width=200)
    console.print(TABLE)
    shown = console.file.getvalue()
    for text in (*HOSTILE, *HEAD, "ranked by a & b", "= tied; 50 % <left>"):
        assert text in shown


@pytest.mark.parametrize("width", [40, 60])
def test_only_long_columns_wrap_in_a_narrow_terminal(width):
    words = " ".join(["word"] * 20)
    console = Console(file=io.StringIO(), width=width)
    console.print(Table([Column("id"), Column("long", long=True)], [[["an-id-of-20-letters.", words]]]))
    lines = console.file.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    assert console.file.getvalue().split().count("word") == 20
    assert any("an-id-of-20-letters." in line for line in lines)


def test_a_table_of_records_leaves_out_empty_sections():
    table = Table.of([(Column("n", number=True), lambda row: str(row["n"]))], [[{"n": 1}], [], [{"n": 2}]])
    assert table.sections == [[["1"]], [["2"]]]
    assert table.html().count("<tbody>") == 2
    assert "caption" not in table.latex()


@given(st.lists(TEXTS, min_size=1, max_size=3))
def test_every_record_is_one_row_whatever_its_cells_hold(texts):
    table = of(texts)
    assert len(ElementTree.fromstring(table.html()).findall(".//td")) == 2 * len(texts)
    for line in table.markdown().splitlines()[2:]:
        assert line.endswith(" | end |")
    assert [row[0] for row in csv.reader(io.StringIO(table.csv(), newline=""))][1:] == texts
    console = Console(file=io.StringIO(), width=80)
    console.print(table)
    assert [row[-1] for row in latex_rows(table.latex())] == ["two", *["end"] * len(texts)]
