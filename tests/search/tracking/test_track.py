"""What MLflow shows of a search, and writing a finished search to any store."""

import contextlib
import fcntl
import json
import os
import shutil
import sqlite3
import threading
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from seedwise.errors import RequestError
from seedwise.search.commands.main import main
from seedwise.search.decide.policy import FRESH
from seedwise.search.ledger.file import Ledger, read
from seedwise.search.spec.load import from_dict
from seedwise.search.tracking import follower
from seedwise.search.tracking.mirror import Mirror
from seedwise.search.tracking.mlflow_sink import MlflowSink, _dataset
from seedwise.search.tracking.mlflow_ui import Pages
from seedwise.search.tracking.sink import TOP, Key, Node
from tests.search.story import TEST_TIMEOUT, Story, follow_here, picture, story_in, tell, twin, wait_for
from tests.servers import silent_port

SUMS = {"task.data": "1" * 64, "model": "2" * 64, "inputs.vectors.bel": "3" * 64, "inputs.text.bel": "4" * 64}
INPUTS = {"vectors": {"bel": "be.vec"}, "text": "text/{language}.txt"}


def events(*, frozen: bool = True) -> list[dict]:
    """A finished search of two configurations and a baseline, with the names of what was searched."""
    lines: list[dict] = []
    story = Story(lambda event: lines.append({**event, "time": 100.0 + len(lines)}), "off", inputs=INPUTS)
    story.session()
    lines[0] |= {"searched": {"": ["k", "weighting", "tau"], "ls": ["strength"]}, "checksums": SUMS}
    lines[0]["specification"]["task"]["data"] = "data/sib200"
    story.write("ask", config_id="one", params={"k": 50, "weighting": "softmax", "tau": 0.25, "lr": 1e-3}, ask=0)
    story.write("ask", config_id="two", params={"k": 1, "lr": 1e-3}, ask=1)
    story.write("ask", config_id="ls", params={"baseline": "ls", "map": "ridge", "strength": 0.5}, ask=-1)
    for config_id, scores in {"one": (0.6, 0.8), "two": (0.5,), "ls": (0.4, 0.4)}.items():
        for replicate, score in enumerate(scores):
            story.run(config_id, replicate, score)
    if frozen:
        stood = {
            "one": {"estimate": 0.69, "estimate_sd": 0.01, "p_best": 0.9},
            "two": {"estimate": 0.52, "estimate_sd": 0.01, "p_best": 0.1},
        }
        story.write("freeze", because="budget", configs=["one"], baselines=["ls"], estimates=stood)
        story.write("start", config_id="one", replicate=FRESH, phase="confirm")
        story.write(
            "result", config_id="one", replicate=FRESH, phase="confirm", step=3, status="done", seconds=1.0,
            metrics={"dev/macro_f1/eng": 0.65},
        )  # fmt: skip
        story.end()
    return lines


def nodes(lines: list[dict]) -> dict[Key, Node]:
    mirror = Mirror()
    mirror.take(lines)
    return mirror.nodes


def described(lines: list[dict]) -> str:
    """The description of a search."""
    return next(update.tags["description"] for update in Mirror().take(lines) if update.key == TOP)


def test_runs_are_named_by_what_was_searched():
    names = {key: node.name for key, node in nodes(events()).items()}
    assert names["one",] == "k=50 softmax tau=0.25"
    assert names["one", 1] == "k=50 softmax tau=0.25, replicate 1"
    assert names["one", FRESH] == "k=50 softmax tau=0.25, fresh seed 1"
    assert names["two",] == "k=1"
    assert names["ls",] == "LS ridge strength=0.5"


def test_ledgers_that_do_not_say_what_was_searched_name_configurations_by_their_id():
    lines = events()
    del lines[0]["searched"]
    assert nodes(lines)["one", 0].name == "one, replicate 0"


def test_two_configurations_that_round_to_one_name_get_distinct_names():
    lines = events()
    lines[2]["params"] = {"k": 50, "weighting": "softmax", "tau": 0.25004}
    names = [node.name for key, node in nodes(lines).items() if len(key) == 1]
    assert names == ["k=50 softmax tau=0.25", "k=50 softmax tau=0.25 two", "LS ridge strength=0.5"]


def test_only_runs_say_which_configuration_they_are_of_as_a_parameter():
    runs = nodes(events())
    assert runs["one", 0].params["configuration"] == "k=50 softmax tau=0.25"
    assert runs["one",].params.keys() == {"k", "weighting", "tau", "lr"}
    assert runs["two",].params.keys() == {"k", "lr"}  # tau is not active at k = 1


def test_the_description_has_the_leaderboard_and_how_to_run_it_again():
    lines = described(events()).splitlines()
    assert "| 1 | k=50 softmax tau=0.25 (`one`) | 2 | 0.700 ± 0.141 | 0.690 | 0.90 | 0.650 ± - |" in lines
    assert "| 2 | k=1 (`two`) | 1 | 0.500 ± - | 0.520 | 0.10 |  |" in lines
    assert "|  | LS ridge strength=0.5 (`ls`) | 2 | 0.400 ± 0.000 |  |  |  |" in lines
    assert "Run it again: `run_search.py search`" in lines
    assert "Ended: budget." in lines[0]


def test_a_running_search_says_so_in_its_description():
    assert "The search has not ended." in described(events(frozen=False))


def test_datasets_have_their_path_and_the_start_of_their_checksum():
    datasets = [_dataset(dataset) for dataset in nodes(events())[TOP].inputs]
    assert [(dataset.tags[0].value, dataset.dataset.name, dataset.dataset.digest) for dataset in datasets] == [
        ("task.data", "data/sib200", "1" * 16),
        ("inputs.vectors.bel", "be.vec", "3" * 16),
        ("inputs.text.bel", "text/{language}.txt", "4" * 16),
    ]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A search folder that was never written to MLflow."""
    folder = tmp_path_factory.mktemp("finished")
    tell(story_in(folder, "off"))
    return folder


def test_any_search_goes_into_any_store_and_the_second_time_changes_nothing(finished, database, capsys):
    uri = database()
    assert main(["track", str(finished), "--uri", uri]) == 0
    assert "complete" in capsys.readouterr().out
    before = picture(uri)
    assert len(before[1]) == 11
    assert before[1][("search",)][0] == "FINISHED"
    assert main(["track", str(finished), "--uri", uri]) == 0
    assert picture(uri) == before


def test_a_ledger_is_written_alike_in_parts_of_any_size(finished, database, tmp_path, monkeypatch):
    whole, parts = database(), database()
    assert follow_here(twin(finished, tmp_path / "whole", whole))
    monkeypatch.setattr(follower, "CHUNK", 500)  # bytes: two or three lines
    assert follow_here(twin(finished, tmp_path / "parts", parts))
    assert picture(parts) == picture(whole)


def test_a_second_follower_that_knows_several_parts_adds_only_the_rest(finished, database, tmp_path, monkeypatch):
    whole, uri = database(), database()
    assert follow_here(twin(finished, tmp_path / "whole", whole))
    folder = twin(finished, tmp_path / "parts", uri)
    lines = (folder / "ledger.jsonl").read_text().splitlines(keepends=True)
    monkeypatch.setattr(follower, "CHUNK", 500)
    (folder / "ledger.jsonl").write_text("".join(lines[:25]))
    assert follow_here(folder)
    (folder / "ledger.jsonl").write_text("".join(lines))
    assert follow_here(folder)
    assert picture(uri) == picture(whole)


def test_a_store_that_comes_back_empty_gets_everything_again(finished, database, tmp_path):
    """Deleted, or set back to an older state, during the search."""
    whole, uri, empty = database(), database(), database()
    assert follow_here(twin(finished, tmp_path / "whole", whole))
    folder = twin(finished, tmp_path / "twin", uri)
    lines = (folder / "ledger.jsonl").read_text().splitlines(keepends=True)
    (folder / "ledger.jsonl").write_text("".join(lines[:25]))
    over = threading.Event()
    following = follower.Follower(folder, over)
    assert following._advance(last=False)
    (folder / "ledger.jsonl").write_text("".join(lines))
    assert not following._attempt(lambda: 1 / 0)  # the store is unreachable
    shutil.copy(empty.removeprefix("sqlite:///"), uri.removeprefix("sqlite:///"))
    over.set()
    assert following.follow(0)
    assert picture(uri) == picture(whole)


def test_nothing_is_read_ahead_while_mlflow_is_away(finished, tmp_path):
    """The ledger is the queue: a long outage takes no memory."""
    over = threading.Event()
    over.set()
    with silent_port() as port:
        following = follower.Follower(twin(finished, tmp_path / "twin", f"http://127.0.0.1:{port}"), over)
        assert not following.follow(0)
    assert following.trouble
    assert following._mirror.lines == 0


def test_a_store_that_does_not_answer_is_one_line(finished, capsys, monkeypatch):
    monkeypatch.setattr(follower, "TRACK_GRACE", 0.0)
    with silent_port() as port:
        assert main(["track", str(finished), "--uri", f"http://127.0.0.1:{port}"]) == 1
    assert "is incomplete" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["{finished}"], "tracking.uri: it is off in this search. Name a store with --uri."),
        (["{finished}", "--uri", "runs/mlruns"], "MLflow cannot write to 'runs/mlruns'"),
        (["{finished}/nothing"], "there is no search here"),
    ],
)
def test_a_wrong_request_to_track_is_one_line(finished, arguments, said, capsys):
    assert main(["track", *(argument.format(finished=finished) for argument in arguments)]) == 2
    assert said in capsys.readouterr().err


def test_a_running_search_is_not_tracked_twice(finished, tmp_path, capsys):
    folder = twin(finished, tmp_path / "twin", "off")
    ledger = Ledger(folder / "ledger.jsonl")
    try:
        assert main(["track", str(folder), "--uri", "sqlite:////nowhere/mlflow.db"]) == 2
    finally:
        ledger.close()
    assert "this search is running" in capsys.readouterr().err


def test_a_password_in_the_address_of_artifacts_is_refused():
    with pytest.raises(RequestError, match=r"tracking.artifacts: .* it has a password"):
        from_dict(
            {
                "name": "x",
                "method": {"trainable": "tests.methods:Quadratic", "space": "tests.methods:space"},
                "budget": {"runs": 1},
                "select": {"on": "metric", "metric": "value"},
                "tracking": {"uri": "off", "artifacts": "sftp://me:sesame@host/files"},
            }
        )


def test_artifacts_go_where_the_specification_says(database, tmp_path):
    uri, artifacts = database(), tmp_path / "elsewhere"
    story = story_in(tmp_path, uri, tracking={"uri": uri, "artifacts": artifacts.as_uri()})
    tell(story)
    assert follow_here(tmp_path)
    files = {file.name for file in artifacts.rglob("*") if file.is_file()}
    assert {"best.yaml", "leaderboard.csv"} <= files


def test_a_relative_folder_of_artifacts_is_looked_up_where_the_search_was_started(database, tmp_path, monkeypatch):
    uri, home, elsewhere = database(), tmp_path / "home", tmp_path / "elsewhere"
    for folder in (home, elsewhere):
        folder.mkdir()
    monkeypatch.chdir(elsewhere)
    search = {"name": "story", "search_id": "5ea4c4", "folder": str(home)}
    MlflowSink(uri, search | {"specification": {"tracking": {"artifacts": "my files"}}}, tmp_path)
    with contextlib.closing(sqlite3.connect(uri.removeprefix("sqlite:///"))) as store:
        (location,) = store.execute("select artifact_location from experiments where name = 'story'").fetchone()
    assert location == (home / "my files").as_uri()


def waited_for(folder: Path) -> bool:
    """Whether a process waits for the lock of a folder, by the kernel's list of locks."""
    waiting = [line for line in Path("/proc/locks").read_text().splitlines() if "-> FLOCK" in line]
    return any(f":{folder.stat().st_ino} " in line for line in waiting)


def experiments(uri: str) -> int:
    with contextlib.closing(sqlite3.connect(uri.removeprefix("sqlite:///"))) as store:
        return store.execute("select count(*) from experiments").fetchone()[0]


def test_a_store_is_changed_by_one_follower_at_a_time_while_it_is_created(database):
    """Creating the tables takes seconds, and MLflow itself does not guard it."""
    uri = database()
    folder = Path(uri.removeprefix("sqlite:///")).parent
    search = {"name": "story", "search_id": "5ea4c4", "specification": {"tracking": {}}}
    second = threading.Thread(target=MlflowSink, args=(uri, search, folder))
    first = os.open(folder, os.O_RDONLY)
    fcntl.flock(first, fcntl.LOCK_EX)
    try:
        second.start()
        wait_for(lambda: waited_for(folder))
        assert experiments(uri) == 1  # MLflow's own
    finally:
        os.close(first)
    second.join(TEST_TIMEOUT)
    assert experiments(uri) == 2


@pytest.mark.extended
def test_two_followers_that_begin_at_once_create_one_store(tmp_path):
    uri = f"sqlite:///{tmp_path}/new.db"
    followers = []
    for number in range(2):
        folder = tmp_path / str(number)
        folder.mkdir()
        story = story_in(folder, uri)
        tell(story)
        text = (folder / "ledger.jsonl").read_text()
        (folder / "ledger.jsonl").write_text(text.replace("5ea4c4", f"5ea4c{number}"))
        followers.append(follower.start_follower(folder))
    assert [follower.finish(process, TEST_TIMEOUT) for process in followers] == [True, True]
    for number in range(2):
        assert "cannot be written" not in (tmp_path / str(number) / "tracking.log").read_text()


def test_the_comparison_selects_the_best_of_several_searches(finished, database, tmp_path):
    uri, searches = database(), []
    for number in range(2):
        folder = twin(finished, tmp_path / str(number), uri)
        text = (folder / "ledger.jsonl").read_text()
        (folder / "ledger.jsonl").write_text(
            text.replace("5ea4c4", f"5ea4c{number}").replace('"name": "story"', f'"name": "story{number}"')
        )
        assert follow_here(folder)
        searches.append(read(folder / "ledger.jsonl").search)
    link = Pages(uri, 5000).comparison([(searches[0], ["b", "a"]), (searches[1], ["a"])])
    from mlflow import MlflowClient

    query = parse_qs(urlsplit(link.replace("#", "")).query)
    client = MlflowClient(uri)
    runs = [client.get_run(run_id) for run_id in json.loads(query["runs"][0])]
    assert [(run.data.tags["seedwise.search_id"], run.data.tags["config_id"]) for run in runs] == [
        ("5ea4c0", "b"),
        ("5ea4c0", "a"),
        ("5ea4c1", "a"),
    ]
    assert {run.data.tags["level"] for run in runs} == {"configuration"}
    assert len(json.loads(query["experiments"][0])) == 2
    replicates = Pages(uri, 5000).comparison([(searches[0], ["b", "a"])], replicates=True)
    assert len(json.loads(parse_qs(urlsplit(replicates.replace("#", "")).query)["runs"][0])) == 5
