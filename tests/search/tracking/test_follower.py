"""MLflow holds everything in the ledger exactly once, after any interruption.

MLflow's sqlite store is real. Tests that kill a follower or follow live run it in a real process.
tests/search/tracking/test_tracking_server.py tests MLflow's server.
"""

import contextlib
import json
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedwise.errors import RequestError
from seedwise.folder import pictures_of
from seedwise.search.drawing.svg import svg
from seedwise.search.tracking import follower
from seedwise.search.tracking.mirror import Mirror, mask
from seedwise.search.tracking.mlflow_sink import MAX_PARAMETER, WRITTEN, resolve_uri
from seedwise.search.tracking.sink import Key, Point, Update
from seedwise.trainables.pictures import checked
from tests.search.story import (
    FILES,
    SCORES,
    STEP,
    TEST_TIMEOUT,
    Story,
    command,
    follow_here,
    history,
    metrics,
    picture,
    runs_in,
    runs_of,
    story_in,
    tell,
    twin,
    wait_for,
)
from tests.servers import refusing


@pytest.fixture(scope="module")
def written(database, tmp_path_factory):
    """The whole ledger, followed in one pass."""
    folder, uri = tmp_path_factory.mktemp("search"), database()
    tell(story_in(folder, uri))
    assert follow_here(folder)
    return folder, uri


@pytest.fixture(scope="module")
def runs(written):
    return runs_of(written[1])


def test_there_are_three_levels_and_each_run_hangs_below_the_one_above(runs):
    below = {key: key[1:] for key in runs}
    assert sorted(below.values()) == [
        *[
            (),
            ("a",),
            ("a", "0"),
            ("a", "1"),
            ("a", "2"),
            ("b",),
            ("b", "0"),
            ("b", "1"),
            ("c",),
            ("c", "0"),
            ("c", "1"),
        ]
    ]
    by_path = {path: runs[key] for key, path in below.items()}
    for path, run in by_path.items():
        parent = run.data.tags.get("mlflow.parentRunId")
        assert parent == (by_path[path[:-1]].info.run_id if path else None)


def test_a_run_has_every_language_and_its_score_at_every_step(written, runs):
    run = runs["run", "a", "1"]
    expected = [(1, 0.1), (2, 0.2), (3, 0.64)]
    assert history(written[1], run, "dev/macro_f1/eng") == expected
    assert history(written[1], run, "score") == expected
    assert history(written[1], run, "dev/macro_f1/bel") == [(step, round(value - 0.1, 3)) for step, value in expected]
    assert run.data.metrics["seconds"] == 1.5


def test_a_configuration_has_mean_spread_and_languages_for_each_number_of_replicates(written, runs):
    run, scores = runs["configuration", "a"], SCORES["a"]
    grown = [(n, scores[:n]) for n in (1, 2, 3)]
    assert history(written[1], run, "score") == [(n, pytest.approx(np.mean(of))) for n, of in grown]
    assert history(written[1], run, "score_sd") == [(n, pytest.approx(np.std(of, ddof=1))) for n, of in grown[1:]]
    assert history(written[1], run, "dev/macro_f1/bel") == [(n, pytest.approx(np.mean(of) - 0.1)) for n, of in grown]
    low, high = run.data.metrics["score_ci_low"], run.data.metrics["score_ci_high"]
    half = 4.302653 * np.std(scores, ddof=1) / 3**0.5  # Student's t with two degrees of freedom: b and c have one score
    assert (low, high) == (pytest.approx(np.mean(scores) - half), pytest.approx(np.mean(scores) + half))
    assert run.data.metrics["failed"] == 0
    assert runs["configuration", "b"].data.metrics["failed"] == 1
    assert runs["configuration", "b"].data.metrics["dev/macro_f1/bel_n"] == 1
    sd = np.std(scores, ddof=1)  # the target's scores are 0.1 lower
    assert run.data.metrics["dev/macro_f1/bel_sd"] == pytest.approx(sd)


def test_a_failure_counts_as_the_worst_score(written, runs):
    assert history(written[1], runs["configuration", "b"], "score") == [
        (1, pytest.approx(0.7)),
        (2, pytest.approx((0.7 + 0.0) / 2)),
    ]
    assert runs["configuration", "b"].data.metrics["score"] == pytest.approx((0.7 + 0.0) / 2)


def test_the_search_has_the_best_score_as_it_grew(written, runs):
    best = [0.61, 0.625, 0.61, 0.7, 0.61, 0.61]  # b leads until its second run fails
    expected = [(n, pytest.approx(score)) for n, score in enumerate(best, start=1)]
    assert history(written[1], runs[("search",)], "score") == expected
    assert runs[("search",)].data.tags["best_config_id"] == "a"


def test_parameters_are_on_every_level(runs):
    assert runs["configuration", "a"].data.params == {"k": "97", "weighting": "softmax"}
    assert runs["run", "a", "2"].data.params == {"configuration": "a", "k": "97", "weighting": "softmax"}
    of_search = runs[("search",)].data.params
    assert of_search["budget.runs"] == "6"
    assert of_search["task.targets"] == '["bel"]'
    assert len(of_search["space.note"]) == MAX_PARAMETER


def test_tags_say_what_a_run_is_and_which_code_made_it(runs):
    common = {"seedwise.search_id": "5ea4c4", "method": "stitching", "selection": "macro_f1 on source_dev"}
    for run in runs.values():
        assert run.data.tags.items() >= common.items()
        assert "oracle" not in run.data.tags
    assert runs["run", "a", "0"].data.tags.items() >= {"phase": "search", "revision": "first"}.items()
    assert runs["run", "c", "0"].data.tags["revision"] == "second"
    assert runs[("search",)].data.tags.items() >= {"sessions": "2", "ended": "budget"}.items()


def test_failed_and_unfinished_runs_are_distinguished(runs):
    status = {key[1:]: run.info.status for key, run in runs.items()}
    assert status.pop(("b", "1")) == "FAILED"
    assert status.pop(("c", "1")) == status.pop(("c",)) == "KILLED"
    assert set(status.values()) == {"FINISHED"}
    tags = runs["run", "b", "1"].data.tags
    assert tags["failure"] == "nan"
    assert tags["error"].startswith("loss is not finite")


def test_a_repeated_step_of_an_interrupted_run_is_there_once(written, runs):
    assert history(written[1], runs["run", "c", "0"], "score") == [(1, 0.1), (2, 0.2), (3, 0.55)]


def test_files_lie_next_to_the_database(written, runs):
    folder = (
        Path(written[1].removeprefix("sqlite:///")).parent / "mlartifacts" / runs[("search",)].info.run_id / "artifacts"
    )
    assert {file.name for file in folder.iterdir()} == FILES


def test_the_page_of_the_experiment_sorts_by_the_score(written):
    from mlflow import MlflowClient

    tags = MlflowClient(written[1]).get_experiment_by_name("story").tags
    assert tags["mlflow.experiment.primaryMetric.name"] == "score"
    assert tags["mlflow.experiment.primaryMetric.greaterIsBetter"] == "True"


def test_following_again_changes_nothing(written):
    folder, uri = written
    before = picture(uri)
    assert follow_here(folder)
    assert picture(uri) == before


def test_a_lost_position_costs_only_time(database, written, tmp_path):
    uri = database()
    folder = twin(written[0], tmp_path / "twin", uri)
    assert follow_here(folder)
    before = picture(uri)
    with contextlib.closing(sqlite3.connect(uri.removeprefix("sqlite:///"))) as store, store:
        assert store.execute("delete from tags where key = ?", [WRITTEN]).rowcount == 1
    assert follow_here(folder)
    assert picture(uri) == before


def test_a_run_that_was_created_twice_is_removed(database, written, tmp_path):
    from mlflow import MlflowClient

    uri = database()
    folder = twin(written[0], tmp_path / "twin", uri)
    assert follow_here(folder)
    before = picture(uri)
    original = runs_of(uri)["run", "a", "0"]
    MlflowClient(uri).create_run(original.info.experiment_id, tags=original.data.tags)
    assert follow_here(folder)
    assert picture(uri) == before


def test_a_search_that_is_extended_goes_on_in_the_same_runs(database, tmp_path):
    uri = database()
    story = story_in(tmp_path, uri)
    tell(story)
    assert follow_here(tmp_path)
    first = {key: run.info.run_id for key, run in runs_of(uri).items()}
    story.changes = {"budget": {"runs": 8}}
    story.session(revision="third")
    story.run("c", 1, 0.9)
    assert follow_here(tmp_path)
    assert runs_of(uri)[("search",)].info.status == "KILLED"
    story.end()
    assert follow_here(tmp_path)
    second = runs_of(uri)
    assert {key: run.info.run_id for key, run in second.items()} == first
    assert second["run", "c", "1"].info.status == second["configuration", "c"].info.status == "FINISHED"
    assert second[("search",)].data.params["budget.runs"] == "6"
    assert second[("search",)].data.tags["best_config_id"] == "c"


def test_a_ledger_followed_while_it_is_written_ends_as_one_followed_at_once(database, tmp_path):
    folder, uri = tmp_path / "live", database()
    process = follower.start_follower(folder)  # before the ledger exists
    story = story_in(folder, uri)
    story.session()
    story.ask("a")
    story.start("a", 0)
    wait_for(lambda: runs_in(uri) == 3)
    first, second = (
        json.dumps({**STEP, "step": step, "metrics": metrics(step / 10), "time": time.time()}) + "\n" for step in (1, 2)
    )
    with open(folder / "ledger.jsonl", "ab", buffering=0) as torn:
        torn.write((first + second[:40]).encode())
        wait_for(lambda: steps_in(uri) == {1})  # it has read up to the torn line and no further
        torn.write(second[40:].encode())
    wait_for(lambda: steps_in(uri) == {1, 2})
    process.send_signal(signal.SIGTERM)  # as all processes of a stopped job get it: the follower continues
    story.result("a", 0, 0.5)
    wait_for(lambda: 3 in steps_in(uri))
    story.run("a", 1, 0.7)
    story.end()
    assert follower.finish(process, TEST_TIMEOUT), (folder / "tracking.log").read_text()
    other = database()
    assert follow_here(twin(folder, tmp_path / "twin", other))
    assert picture(uri) == picture(other)


# The store accepts no further run, so even a fast follower is killed before it has finished.
FULL = """create trigger full before insert on runs when (select count(*) from runs) >= 30
    begin select raise(abort, 'no room'); end"""


def execute(uri: str, statement: str) -> None:
    with contextlib.closing(sqlite3.connect(uri.removeprefix("sqlite:///"), timeout=TEST_TIMEOUT)) as store, store:
        store.execute(statement)


def test_the_next_follower_completes_what_a_killed_follower_left(database, tmp_path):
    folder, uri = tmp_path / "killed", database()
    execute(uri, FULL)
    story = story_in(folder, uri)
    story.session()
    for config_id in "abcdef":
        story.ask(config_id)
        for replicate in range(5):
            story.run(config_id, replicate, 0.5 + replicate / 100)
    story.end()
    process = follower.start_follower(folder)
    wait_for(lambda: runs_in(uri) > 5)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert runs_in(uri) <= 30
    execute(uri, "drop trigger full")
    assert follow_here(folder)
    assert len(runs_of(uri)) == 37
    other = database()
    assert follow_here(twin(folder, tmp_path / "twin", other))
    assert picture(uri) == picture(other)


def test_the_second_follower_of_a_folder_waits_for_the_first(database, tmp_path, capsys):
    story = story_in(tmp_path, database())
    tell(story)
    over = threading.Event()
    over.set()
    first, second = follower.Follower(tmp_path, over), follower.Follower(tmp_path, over)
    assert first.follow(grace=0)
    assert not second.follow(grace=0)
    assert "another process" in capsys.readouterr().out


def test_when_mlflow_refuses_the_follower_stops_and_says_how_to_complete_without_keeping_a_password(tmp_path):
    with refusing() as server:
        tell(story_in(tmp_path, f"http://someone:sesame@127.0.0.1:{server.server_port}"))
        ledger = (tmp_path / "ledger.jsonl").read_bytes()
        done = command(tmp_path, "0")
    assert done.returncode == follower.INCOMPLETE
    assert (
        f"This completes the tracking: seedwise resume {tmp_path}" in done.stdout.splitlines()[-1]
    )  # in a file that stays
    assert server.authorizations == {"Basic c29tZW9uZTpzZXNhbWU="}  # someone:sesame in base 64
    assert "no entry for" in done.stdout
    for shown in (done.stdout, done.stderr, (tmp_path / "tracking.log").read_text()):
        assert "sesame" not in shown
        assert "c29tZW9uZTpzZXNhbWU=" not in shown
    assert (tmp_path / "ledger.jsonl").read_bytes() == ledger


def test_a_masked_address_without_its_password_is_a_wrong_request(tmp_path, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    tell(story_in(tmp_path, "http://***@127.0.0.1:9"))
    with pytest.raises(RequestError, match="MLFLOW_TRACKING_URI"):
        follow_here(tmp_path)


def test_without_a_ledger_the_follower_does_nothing(tmp_path):
    assert follow_here(tmp_path)


def test_an_oracle_is_labelled_on_every_level(tmp_path):
    select = {"metric": "macro_f1", "on": "target_dev", "aggregate": "worst"}
    story = story_in(tmp_path, "sqlite:///x.db", select=select, method={"trainable": "mine:Run", "space": "mine:space"})
    tell(story)
    mirror = Mirror()
    mirror.take([json.loads(line) for line in (tmp_path / "ledger.jsonl").read_text().splitlines()])
    for node in mirror.nodes.values():
        assert node.tags.items() >= {"oracle": "true", "method": "mine:Run"}.items()


def test_numbers_that_are_not_finite_and_names_that_mlflow_refuses_are_made_harmless(database, tmp_path):
    uri = database()
    story = story_in(tmp_path, uri)
    story.session()
    story.ask("a")
    story.start("a", 0)
    (tmp_path / "ledger.jsonl").open("a").write(
        '{"event": "step", "config_id": "a", "replicate": 0, "step": 1, "time": 1, '
        '"metrics": {"loss": NaN, "gap": Infinity, "../train//loss (mean)": 2}}\n'
    )
    assert follow_here(tmp_path)
    assert runs_of(uri)["run", "a", "0"].data.metrics == {"train/loss _mean_": 2.0}


@given(st.integers(0, 40), st.integers(1, 50))
def test_updates_of_any_parts_are_those_of_the_whole(lines, part):
    events = search_events()
    late, whole = Mirror(), Mirror()
    parts = late.take(events[:lines])
    for start in range(lines, len(events), part):
        parts += late.take(events[start : start + part])
    assert points_of(parts) == points_of(whole.take(events))
    statuses = [
        {update.key: (update.status, update.moment) for update in scribe.take([], last=True)}
        for scribe in (late, whole)
    ]
    assert statuses[0] == statuses[1]
    assert late.nodes == whole.nodes


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://someone:sesame@host:5000/x", "http://***@host:5000/x"),
        ("failed at https://someone:ses@me@host/api today", "failed at https://***@host/api today"),
        ("https://token@host", "https://***@host"),
        ("postgresql://me:pa/ss@host/db", "postgresql://***@host/db"),
        ('["http://h/a", "http://me:x@h"]', '["http://h/a", "http://***@h"]'),
        ("postgresql://host/db?user=me&password=sesame&x=1", "postgresql://host/db?user=me&password=***&x=1"),
        ("sqlite:///runs/mlflow.db", "sqlite:///runs/mlflow.db"),
    ],
)
def test_credentials_are_masked(text, shown):
    assert mask(text) == shown


def test_a_relative_database_is_made_absolute_and_its_folder_is_there(tmp_path):
    assert resolve_uri("sqlite:///runs/mlflow.db", tmp_path) == f"sqlite:///{tmp_path}/runs/mlflow.db"
    assert (tmp_path / "runs").is_dir()
    absolute = f"sqlite:///{tmp_path}/other/mlflow.db"
    assert resolve_uri(absolute, Path("/elsewhere")) == absolute
    assert resolve_uri("http://host:5000", tmp_path) == "http://host:5000"


@pytest.mark.parametrize("uri", ["runs/mlruns", "file:///runs/mlruns"])
def test_a_folder_is_no_tracking_store(uri, tmp_path):
    with pytest.raises(RequestError, match="Give a database"):
        resolve_uri(uri, tmp_path)


def test_importing_tracking_does_not_import_mlflow():
    code = "import sys, seedwise.search.tracking.follower; sys.exit('mlflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def search_events() -> list[dict]:
    """The events of the story."""
    events: list[dict] = []
    tell(Story(lambda event: events.append({**event, "time": len(events) / 8}), "sqlite:///x.db"))
    return events


def test_baselines_are_tagged_and_have_means_and_are_never_the_best():
    lines = []
    story = Story(lambda event: lines.append({**event, "time": float(len(lines))}), "off")
    story.session()
    story.ask("a")
    story.run("a", 0, 0.6)
    story.write("ask", config_id="high", params={"baseline": "ls", "map": "plain"}, ask=-1, suggested={})
    story.write("ask", config_id="mute", params={"baseline": "lr", "c": 1.0}, ask=-1, suggested={})
    for replicate, score in enumerate((0.8, 0.9)):
        story.run("high", replicate, score)
        story.start("mute", replicate)
        only = {"dev/macro_f1/bel": score}  # no score on the source, which ranks
        done = {"phase": "search", "step": 1, "status": "done", "error": "", "seconds": 1.0}
        story.write("result", config_id="mute", replicate=replicate, metrics=only, **done)
    mirror = Mirror()
    points = points_of(mirror.take(lines))
    assert mirror.nodes[("high",)].tags["baseline"] == "ls"
    assert "baseline" not in mirror.nodes[("a",)].tags
    last = {point.name: point.value for point in points[("high",)]}
    assert last["score"] == pytest.approx(0.85)
    mute = {point.name: point.value for point in points[("mute",)]}
    assert "score" not in mute
    assert mute["dev/macro_f1/bel"] == pytest.approx(0.85)
    best = [point.value for point in points[()] if point.name == "score"]
    assert set(best) == {0.6}


def points_of(updates: list[Update]) -> dict[Key, list[Point]]:
    """All points by node, in order."""
    points: dict[Key, list[Point]] = {}
    for update in updates:
        points.setdefault(update.key, []).extend(update.points)
    return points


def steps_in(uri: str) -> set[int]:
    """Steps at which any run of level `run` has a score."""
    query = "select step from metrics join tags using (run_uuid) where metrics.key = 'score' and tags.value = 'run'"
    with contextlib.closing(sqlite3.connect(uri.removeprefix("sqlite:///"))) as store:
        return {step for (step,) in store.execute(query)}


def test_the_confirmation_stands_beside_the_search(database, tmp_path):
    """Fresh seeds and test scores are metrics of their own; the search's score stays as it was at the freeze."""
    uri = database()
    story = story_in(tmp_path, uri)
    story.session()
    for config_id in ("a", "b"):
        story.ask(config_id)
        for replicate, score in enumerate(SCORES["a"] if config_id == "a" else [0.5, 0.6]):
            story.run(config_id, replicate, score)
    story.ask("c")
    story.run("c", 0, 0.62)  # the highest mean, of one lucky seed: not the choice
    estimates = {"a": {"estimate": 0.605, "estimate_sd": 0.01, "p_best": 0.8}, "b": {"estimate": 0.56, "p_best": 0.2}}
    story.write("freeze", because="budget", configs=["a"], estimates=estimates)
    fresh = [0.55, 0.59]
    for replicate, score in enumerate(fresh, start=1000):
        run = {"config_id": "a", "replicate": replicate, "phase": "confirm"}
        values = metrics(score) | {"test/macro_f1/bel": score - 0.2}
        story.write("start", **run)
        story.write("result", **run, status="done", step=3, metrics=values, seconds=1.0, error="")
    assert follow_here(tmp_path)
    story.end()
    assert follow_here(tmp_path)  # restarted after the freeze
    runs = runs_of(uri)
    logged = runs["configuration", "a"].data.metrics
    assert logged["score"] == pytest.approx(np.mean(SCORES["a"]))
    assert logged["fresh_score"] == pytest.approx(np.mean(fresh))
    assert logged["fresh_score_sd"] == pytest.approx(np.std(fresh, ddof=1))
    assert logged["test/macro_f1/bel"] == pytest.approx(np.mean(fresh) - 0.2)
    assert logged["dev/macro_f1/bel"] == pytest.approx(np.mean(SCORES["a"]) - 0.1)
    assert (logged["estimate"], logged["p_best"]) == (0.605, 0.8)
    assert "test/macro_f1/bel" not in runs["configuration", "b"].data.metrics
    assert runs["configuration", "b"].data.metrics["p_best"] == 0.2
    assert runs["run", "a", "1001"].data.tags["phase"] == "confirm"
    of_search = runs[("search",)].data
    assert of_search.metrics["fresh_score"] == pytest.approx(np.mean(fresh))
    assert of_search.metrics["score"] == pytest.approx(np.mean(SCORES["a"]))
    assert of_search.tags.items() >= {"frozen": "a", "stopped": "budget", "best_config_id": "a"}.items()


def test_pictures_of_a_run_are_files_of_its_own_mlflow_run_also_after_a_restart(database, tmp_path):
    from mlflow import MlflowClient

    uri = database()
    story = story_in(tmp_path, uri)
    story.session()
    story.ask("a")
    story.run("a", 0, 0.6)
    story.write("freeze", because="budget", configs=["a"], estimates={})
    for replicate in (1000, 1001):
        run = {"config_id": "a", "replicate": replicate, "phase": "confirm"}
        story.write("start", **run)
        story.write("result", **run, status="done", step=3, metrics=metrics(0.5), seconds=1.0, error="")
    series = {"name": "train", "kind": "line", "x": [1.0, 2.0], "y": [0.7, 0.5]}
    panels = [{"title": "", "x": "epoch", "y": "loss", "series": [series]}]
    drawn = [{"name": name, "title": name, "text": "", "columns": 1, "panels": panels} for name in ("loss", "map")]
    pictures_of(tmp_path, "a", 1000).parent.mkdir()
    pictures_of(tmp_path, "a", 1000).write_text(json.dumps(drawn))

    def files() -> dict[tuple, dict[str, str]]:
        client, pictures = MlflowClient(uri), {}
        for key, run in runs_of(uri).items():
            names = [file.path for file in client.list_artifacts(run.info.run_id, "pictures")]
            pictures |= {key: {name: mlflow_text(client, run.info.run_id, name) for name in names}} if names else {}
        return pictures

    assert follow_here(tmp_path)
    first = files()
    assert first.keys() == {("run", "a", "1000")}
    assert first["run", "a", "1000"].keys() == {"pictures/loss.svg", "pictures/map.svg"}
    assert first["run", "a", "1000"]["pictures/loss.svg"] == svg(checked(drawn)[0])
    with contextlib.closing(sqlite3.connect(uri.removeprefix("sqlite:///"))) as store, store:
        store.execute("delete from tags where key = ?", [WRITTEN])  # killed before it saved its position
    story.end()
    assert follow_here(tmp_path)
    assert files() == first


def mlflow_text(client: object, run_id: str, path: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        return Path(client.download_artifacts(run_id, path, folder)).read_text(encoding="utf-8")
