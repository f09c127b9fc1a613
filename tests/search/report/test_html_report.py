"""The report as a page and in the terminal, without a browser."""

import io
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from plotly.offline import get_plotlyjs
from rich.console import Console

from seedwise.search.commands.main import main
from seedwise.search.ledger.state import replay
from seedwise.search.report import html_report, terminal
from seedwise.search.report.html_report import page as page_of
from seedwise.search.report.importance import importances
from seedwise.search.spec.load import read
from seedwise.search.studies.study import Search
from tests.ledgers import events, findings, made

EVIL = '</script><img src="x" onerror="alert(1)">\u2028 $x$ & \x00 <b>'
CHARTS = ("replicates", "course", "importance", "target", "languages-dev", "languages-test", "components", "seconds")


def without_scripts(text: str) -> str:
    """A page without the content of its scripts: plotly's has characters that XML forbids."""
    return re.sub(r"(<script[^>]*>).*?(</script>)", r"\1\2", text, flags=re.DOTALL)


def parsed(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(without_scripts(text))


@pytest.fixture(scope="module")
def text():
    return page_of(made(), Path("runs/made"), ended="the budget is spent")


def test_the_page_has_every_chart_with_alternative_text_and_plotly_once(text):
    root = parsed(text)
    figures = {element.get("id"): element for element in root.iter("figure")}
    assert {f"chart-{name}" for name in CHARTS} <= set(figures)
    for figure in figures.values():
        (box,) = [element for element in figure.iter("div") if element.get("class") == "chart"]
        assert box.get("role") == "img"
        assert re.search(r"\d", box.get("aria-label"))
        assert figure.find("figcaption").text.strip()
    assert text.count(get_plotlyjs()) == 1
    assert "Content-Security-Policy" in text


def test_every_link_of_the_contents_leads_to_a_section(text):
    root = parsed(text)
    linked = [link.get("href").removeprefix("#") for link in root.find("body/nav").iter("a")]
    assert linked == [section.get("id") for section in root.iter("section")]
    assert len(linked) == 9


def test_the_answer_comes_first(text):
    root = parsed(text)
    body = list(root.find("body"))
    assert [element.tag for element in body[:4]] == ["h1", "p", "div", "nav"]
    sentences = ["".join(element.itertext()) for element in body[2]]
    assert sentences[0].startswith("Chosen: ")
    assert sentences[-1] == "Run it again with: seedwise run runs/made/best.yaml"


def test_the_table_marks_the_choice_and_lists_failures(text):
    results = made()
    root = parsed(text)
    board, failed = root.iter("table")
    (chosen,) = [line for line in board.iter("tr") if line.get("class") == "chosen"]
    assert "".join(chosen[1].itertext()).split()[0] == results.state.frozen[0]
    assert len(list(board.iter("tr"))) == 1 + len(results.rows)
    runs = [run for run in results.state.runs() if run.finished and run.status != "done"]
    seeds = [
        f"fresh seed {run.replicate - 999}" if run.replicate > 999 else f"replicate {run.replicate}" for run in runs
    ]
    assert sorted(line[1].text for line in failed.iter("tr")) == sorted(["seed", *seeds])


def test_the_same_ledger_gives_the_same_page(text):
    assert page_of(made(), Path("runs/made"), ended="the budget is spent") == text


def test_an_unfinished_search_has_a_partial_report():
    lines = [line for line in events() if line["event"] != "end"]
    text = page_of(findings(replay(lines)), Path("x"), ended="")
    assert "the search has not ended; these are the results so far." in text
    lines = [line for line in lines if line.get("phase") != "confirm" and line["event"] != "freeze"]
    assert "Best so far: " in page_of(findings(replay(lines)), Path("x"), ended="")


def test_a_run_under_way_is_not_said_to_have_finished():
    lines = list(events())
    ended = [line for line in lines if line.get("config_id") == "baseline" and line.get("phase") != "confirm"]
    done = next(line for line in lines if line["event"] == "result" and line["status"] == "done")
    own = [line for line in lines if line.get("config_id") == done["config_id"]]
    text = page_of(findings(replay([lines[0], *own[:3], *ended[:-1]])), Path("x"), ended="")
    assert "No run that has ended failed, was pruned or predicts a single class." in text


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_ledger_of_any_length_has_a_page(count):
    """With no finished run, one finished run, or one failed run."""
    lines = list(events())
    results = findings(replay(lines[:count]))
    assert "No run of this search has finished" in page_of(results, Path("x"), ended="")
    console = Console(file=io.StringIO(), width=100)
    terminal.show(results, Path("x"), console)
    assert "No run of this search has finished" in console.file.getvalue()
    lines[3] |= {"status": "failed:oom", "metrics": {}} if count == 2 else {}
    single = findings(replay(lines[:4]))
    assert len(single.rows) == 1
    assert "no configuration has two replicates" in page_of(single, Path("x"), ended="")
    terminal.show(single, Path("x"), console)


def test_names_and_texts_of_users_are_escaped():
    """Names, errors, labels, languages and values may come from files of other people."""
    lines = []
    for line in events():
        if line["event"] == "search":
            task = {"source": "s", "targets": [EVIL, "b"]}
            specification = line["specification"] | {"task": task, "method": {"space": "gone:gone"}, "space": "default"}
            line |= {"name": EVIL, "specification": specification}
        if line["event"] == "ask" and line["config_id"] != "baseline":
            line["params"] |= {EVIL: EVIL if line["ask"] % 2 else EVIL * 2}
        if line["event"] == "result":
            line["metrics"] = {name.replace("/a", f"/{EVIL}"): value for name, value in line["metrics"].items()}
            line["error"] = EVIL
        lines.append(line)
    text = page_of(findings(replay(lines)), Path(EVIL), ended=EVIL)
    assert "<img" not in text.replace(get_plotlyjs(), "")
    root = parsed(text)
    assert root.find("body/h1").text == EVIL.replace("\x00", "\ufffd")
    assert len(list(root.iter("figure"))) >= len(CHARTS)
    assert text.count("</script>") == len(list(root.iter("script")))


def test_a_page_that_cannot_be_written_does_not_keep_a_search_from_ending(tmp_path, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("no chart")

    results = made()
    results.state.search |= dict.fromkeys(("checksums", "versions", "revision", "command"), "")
    results.state.search["specification"] |= {"seed": 0, "model": ""}
    monkeypatch.setattr(html_report, "page", broken)
    console = Console(file=io.StringIO(), width=200)
    Search(read("demo", ["tracking.uri=off"])).write(results, tmp_path, console)
    assert (tmp_path / "best.yaml").exists()
    assert "report.html was not written (ZeroDivisionError('no chart'))" in console.file.getvalue()


def test_the_terminal_shows_the_same_answer():
    console = Console(file=io.StringIO(), width=120, markup=False)
    results = made()
    terminal.show(results, Path("runs/made"), console)
    text, first = console.file.getvalue(), importances(results)[0]
    assert text.startswith(f"Chosen: {results.state.frozen[0]}")
    parts = ("ranked by the estimate", "spread: Standard deviation", "importance (share", f"lr {first.share:.2f}, ")
    more = ("cost: ", "failed, pruned or with a single class: ", "replicate 0: failed:nan the loss is nan")
    for part in (*parts, *more):
        assert part in text


def test_the_help_imports_no_charts(monkeypatch, capsys):
    import sys

    for name in [name for name in sys.modules if name.split(".")[0] in ("plotly", "optuna")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "report" in capsys.readouterr().out
    assert not {"plotly", "optuna"} & set(sys.modules)
