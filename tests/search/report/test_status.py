"""The output of `status` for a search folder."""

import time
from types import SimpleNamespace

from seedwise import text
from seedwise.program import called
from seedwise.search.commands.main import main
from seedwise.search.ledger.file import Ledger
from seedwise.search.spec.load import recorded
from seedwise.search.studies.study import study_of
from seedwise.text import ago
from tests.search.hand_written import HandWritten, demo, metrics, specification


def begun(begin: float) -> HandWritten:
    search = HandWritten(specification(), begin=begin)
    search.ask("a", k=50, weighting="standard")
    search.run("a", 0, metrics("dev", 0.8, 0.6, 0.5))
    search.tell("start", config_id="a", replicate=1, phase="search")
    return search


def test_a_search_under_way_says_what_runs_what_is_left_and_how_old_that_is(tmp_path, capsys, monkeypatch):
    search = begun(time.time())
    monkeypatch.setattr(text, "time", SimpleNamespace(time=lambda: search.time + 300))
    folder = search.write(tmp_path)
    ledger = Ledger(folder / "ledger.jsonl")  # as a running search holds it
    assert main(["status", str(folder)]) == 0
    ledger.close()
    output = capsys.readouterr().out
    assert "1/32 runs" in output
    assert "a replicate 1 0 -" in " ".join(output.split())
    assert "search, 31 runs left; session 1, last line 5 min ago" in output
    assert "the search is running" in output


def test_without_a_lock_begun_runs_are_listed_and_another_machine_may_hold_the_search(tmp_path, capsys):
    folder = begun(time.time() - 20).write(tmp_path)
    assert main(["status", str(folder)]) == 0
    output = capsys.readouterr().out
    assert "without a result: a, replicate 1" in output
    assert f"interrupted; continue with: {called('resume', folder)}" in output
    assert "If another machine works on it, wait" in output


def test_a_finished_search_says_why_and_when(tmp_path, capsys):
    assert main(["status", str(demo().write(tmp_path))]) == 0
    output = capsys.readouterr().out
    assert "finished: the budget is spent (session 1, last line" in output
    assert "resume" not in output


def test_phases_have_names():
    def phase_of(state):
        return study_of(recorded(state)).phase(state)

    search = begun(0.0)
    assert phase_of(search.state) == "search"
    search.tell("baselines", because="the budget is spent")
    assert phase_of(search.state) == "baselines"
    search.freeze("a")
    assert phase_of(search.state) == "confirmation"


def test_a_clock_that_is_behind_gives_no_negative_age():
    assert ago(time.time() + 100) == "0 s ago"


def test_a_folder_without_a_search_is_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["status", "nowhere"]) == 2
    error = capsys.readouterr().err
    assert error == "seedwise: nowhere: there is no search here. Name the folder that has its ledger.jsonl.\n"
    assert not list(tmp_path.iterdir())
