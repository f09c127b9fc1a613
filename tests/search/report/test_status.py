"""What a person sees of a search from elsewhere: from its folder, and from MLflow."""

import time
from types import SimpleNamespace

import pytest

from seedwise import text
from seedwise.program import called
from seedwise.search.commands.main import main
from seedwise.search.ledger.state import Ledger
from seedwise.search.report.status import phase_of
from seedwise.text import ago
from tests.search.story import follow_here, metrics, story_in, tell
from tests.search.told import Told, demo, specification
from tests.search.told import metrics as scores


def begun(begin: float) -> Told:
    told = Told(specification(), begin=begin)
    told.ask("a", k=50, weighting="standard")
    told.run("a", 0, scores("dev", 0.8, 0.6, 0.5))
    told.tell("start", config_id="a", replicate=1, phase="search")
    return told


def test_a_search_under_way_says_what_runs_what_is_left_and_how_old_that_is(tmp_path, capsys, monkeypatch):
    told = begun(time.time())
    monkeypatch.setattr(text, "time", SimpleNamespace(time=lambda: told.time + 300))
    folder = told.write(tmp_path)
    ledger = Ledger(folder / "ledger.jsonl")  # as the search itself holds it
    assert main(["status", str(folder)]) == 0
    ledger.close()
    output = capsys.readouterr().out
    assert "1/32 runs" in output
    assert "running a seed 1" in " ".join(output.split())
    assert "search, 31 runs left; session 1, last line 5 min ago" in output
    assert "the search is running" in output


def test_without_its_lock_it_says_what_was_begun_and_that_another_machine_may_have_it(tmp_path, capsys):
    folder = begun(time.time() - 20).write(tmp_path)
    assert main(["status", str(folder)]) == 0
    output = capsys.readouterr().out
    assert "without a result: a seed 1" in output
    assert f"interrupted; go on with: {called('resume', folder)}" in output
    assert "If another machine writes it, wait" in output


def test_a_finished_search_says_why_and_when(tmp_path, capsys):
    assert main(["status", str(demo().write(tmp_path))]) == 0
    output = capsys.readouterr().out
    assert "finished: the budget is spent (session 1, last line" in output
    assert "resume" not in output


def test_phases_are_named():
    told = begun(0.0)
    assert phase_of(told.state) == "search"
    told.tell("baselines", because="the budget is spent")
    assert phase_of(told.state) == "baselines"
    told.freeze("a")
    assert phase_of(told.state) == "confirmation"


def test_a_clock_that_is_behind_gives_no_negative_age():
    assert ago(time.time() + 100) == "0 s ago"


@pytest.fixture(scope="module")
def stored(database, tmp_path_factory):
    """A story in a database: nothing else is seen of its folder."""
    folder, uri = tmp_path_factory.mktemp("stored"), database()
    tell(story_in(folder, uri, searched=["k", "weighting"]))
    assert follow_here(folder)
    return uri


def assert_status_of_story(uri, capsys):
    assert main(["status", "story", "--uri", uri]) == 0
    output = capsys.readouterr().out
    assert "story: stitching, macro_f1 on source_dev, done" in output
    assert "3 configurations: 2 done, 1 interrupted" in output  # a further run of c never ended
    assert "7 runs: 5 done, 1 failed:nan, 1 interrupted" in output
    assert "highest mean so far: b k=98 softmax\n" in output
    assert "session 2, last line that MLflow has:" in output


def test_mlflow_tells_the_status_where_the_folder_is_not_there(stored, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert_status_of_story(stored, capsys)


def test_the_score_comes_with_its_interval(database, tmp_path, capsys):
    uri = database()
    story = story_in(tmp_path / "story", uri)
    story.session()
    story.ask("a")
    for replicate, score in enumerate((0.61, 0.64, 0.58)):
        story.run("a", replicate, score)
    story.write("freeze", because="budget", configs=["a"], estimates={})
    run = {"config_id": "a", "replicate": 1000, "phase": "confirm"}
    story.write("start", **run)
    story.write("result", **run, status="done", step=3, metrics=metrics(0.55), seconds=1.0, error="")
    assert follow_here(tmp_path / "story")
    assert main(["status", "story", "--uri", uri]) == 0
    output = capsys.readouterr().out
    assert "chosen: a\n" in output
    assert "its score: 0.610 (95 % interval 0.535 .. 0.685)" in output  # 4.303 * 0.03 / sqrt(3) is 0.0745
    assert "on fresh seeds: 0.550 (one seed, no interval)" in output
    assert "the search phase is over: budget" in output


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nowhere"], "nowhere: there is no search here. Write its folder, or its name with --uri"),
        (["story", "--uri", "runs"], "--uri runs: there is no such store. Write http://HOST:PORT"),
        (["story", "--uri", "sqlite:///no.db"], "--uri sqlite:///no.db: there is no such store."),
        (["story", "--uri", "http://me:secret@127.0.0.1:9"], "--uri http://***@127.0.0.1:9: it does not answer"),
        (
            ["story", "--uri", "mssql+pymssql://me:secret@127.0.0.1:9/db"],
            "--uri mssql+pymssql://***@127.0.0.1:9/db: its driver is not installed (No module named 'pymssql').",
        ),
    ],
)
def test_a_wrong_place_is_one_line_without_its_password(tmp_path, monkeypatch, capsys, arguments, told):
    monkeypatch.chdir(tmp_path)
    for name in ("MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD"):
        monkeypatch.setenv(name, "")
    assert main(["status", *arguments]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1
    assert "secret" not in error
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_no_database_is_one_line(tmp_path, capsys):
    (tmp_path / "notes.db").write_text("not a database\n" * 100)
    assert main(["status", "story", "--uri", f"sqlite:///{tmp_path}/notes.db"]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"seedwise: --uri sqlite:///{tmp_path}/notes.db: it does not answer (")
    assert error.count("\n") == 1


def test_another_name_is_one_line_with_the_names_there_are(stored, capsys):
    assert main(["status", "stroy", "--uri", stored]) == 2
    assert "no search is called 'stroy'. It has story." in capsys.readouterr().err
