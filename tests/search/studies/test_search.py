"""Searches from end to end on real Ray; those that are killed and resumed run in processes of their own."""

import contextlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys

import pytest
import ray

from seedwise import yaml12
from seedwise.program import called
from seedwise.search.commands.main import main
from seedwise.search.decide.next_run import next_run
from seedwise.search.ledger.file import read, scan
from seedwise.search.ledger.state import replay
from seedwise.search.spec.load import from_dict
from seedwise.trainables.streams import Streams
from tests.conftest import ROOT
from tests.methods import Quadratic
from tests.search.story import TEST_TIMEOUT, wait_for

WITHOUT_RAY = ("status", "report", "compare", "export")
SPECIFICATION = {
    "name": "quadratic",
    "method": {"trainable": "tests.methods:Quadratic", "space": "tests.methods:space"},
    "sampler": "random",
    "budget": {"runs": 12},
    "replicates": {"policy": "fixed", "n": 3, "confirm": {"top": 0}},
    "select": {"on": "metric", "metric": "value"},
    "tracking": {"uri": "off"},
}


def command(*arguments):
    return [sys.executable, str(ROOT / "run_search.py"), *map(str, arguments)]


def typed(folder, *arguments):
    """A command as it is printed for the current folder `folder`."""
    with contextlib.chdir(folder):
        return called(*arguments)


def environment(**more):
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


def run(folder, *arguments, code=0, apart=False):
    """Run a command to its end in `folder` and return what it printed.

    Runs in this process if the command needs no Ray or Ray is running here (the fixture `ray_here`). Otherwise, or with
    `apart`, it runs in a process with its own Ray, as from a shell, which takes ten more CPU seconds.
    """
    if not apart and (ray.is_initialized() or arguments[0] in WITHOUT_RAY or "--dry-run" in arguments):
        output = io.StringIO()
        try:
            with contextlib.chdir(folder), contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
                returned = main([*map(str, arguments)])
        except BaseException:  # its runs may still have the slots that the next search would wait for
            ray.shutdown()
            raise
        assert code in (None, returned), output.getvalue()
        return output.getvalue()
    done = subprocess.run(
        command(*arguments), cwd=folder, env=environment(), capture_output=True, text=True, timeout=600
    )
    assert code in (None, done.returncode), done.stdout + done.stderr
    return done.stdout + done.stderr


def write(folder, **changes):
    (folder / "spec.yaml").write_text(yaml12.dump({**SPECIFICATION, **changes}))
    return folder


def results(folder):
    """(configuration, replicate) of every result line, in their order."""
    events, _ = scan(folder / "ledger.jsonl")
    return [(event["config_id"], event["replicate"]) for event in events if event["event"] == "result"]


def board(folder):
    """The leaderboard without values that depend on the clock."""
    rows = json.loads((folder / "leaderboard.json").read_text())
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


def kill_in_the_middle(folder, *, after=4, signal_number=signal.SIGKILL):
    """Start a search, wait for `after` results in its ledger, and end its driver."""
    process = subprocess.Popen(
        command("search", "spec.yaml"),
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # A shell that runs the tests in the background has interrupts ignored, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    ledger = folder / "runs" / "quadratic" / "ledger.jsonl"
    wait_for(lambda: process.poll() is not None or (ledger.exists() and len(results(ledger.parent)) >= after))
    assert process.poll() is None, process.stdout.read()
    process.send_signal(signal_number)
    output, _ = process.communicate(timeout=TEST_TIMEOUT)
    return process.returncode, output


pytestmark = pytest.mark.usefixtures("ray_here")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, ray_here):
    folder = write(tmp_path_factory.mktemp("undisturbed"))
    output = run(folder, "search", "spec.yaml")
    return folder / "runs" / "quadratic", output


def without_tracking(exported):
    """An exported file does not say where MLflow is; the default would be a new database, three seconds of work."""
    content = yaml12.load(exported.read_text())
    content["specification"]["tracking"] = {"uri": "off"}
    exported.write_text(yaml12.dump(content))
    return exported


def cut_off(folder, after, last="result"):
    """Leave of a finished search what `kill -9` would leave: the ledger up to a torn line, no files of the end.

    The last whole line is result number `after`, or the next line of kind `last`: an `ask` is the first of the two
    lines of a decision.
    """
    lines = (folder / "ledger.jsonl").read_text().splitlines(keepends=True)
    kinds = [json.loads(line)["event"] for line in lines]
    enough = [number for number, kind in enumerate(kinds) if kind == "result"][after - 1]
    kept = kinds.index(last, enough) + 1
    for path in folder.iterdir():
        if path.is_file():
            path.unlink()
    (folder / "ledger.jsonl").write_text("".join(lines[:kept]) + lines[kept][:20])


def test_a_search_ends_with_a_leaderboard_and_a_best_configuration(undisturbed):
    folder, output = undisturbed
    rows = board(folder)
    assert len(rows) == 4
    assert [row["mean"] for row in rows] == sorted((row["mean"] for row in rows), reverse=True)
    assert all(row["replicates"] == 3 for row in rows)
    assert abs(rows[0]["params"]["x"] - 0.3) == min(abs(row["params"]["x"] - 0.3) for row in rows)
    assert yaml12.load((folder / "best.yaml").read_text())["config_id"] == rows[0]["config_id"]
    assert "12/12" in output
    assert "the budget of 12 runs is spent" in output


def test_the_stand_in_for_tunes_loop_ends_as_tune_does(tmp_path, undisturbed, fake_loop):
    """Further cases rely on this: the same runs, scores and ranks on the same number of slots."""
    write(tmp_path)
    run(tmp_path, "search", "spec.yaml")
    folder = tmp_path / "runs" / "quadratic"
    assert board(folder) == board(undisturbed[0])
    assert sorted(results(folder)) == sorted(results(undisturbed[0]))
    kinds = [[event["event"] for event in scan(of / "ledger.jsonl")[0]] for of in (folder, undisturbed[0])]
    assert sorted(kinds[0]) == sorted(kinds[1])
    assert kinds[0][: kinds[0].index("result")].count("start") == min(12, ray.cluster_resources()["CPU"])


def test_after_kill_9_nothing_is_repeated_nothing_is_missing_and_the_leaderboard_is_the_same(tmp_path, undisturbed):
    marker = tmp_path / "marker"  # no run of replicate 2 ends before it exists, so the search cannot end too early
    method = SPECIFICATION["method"] | {"trainable": "tests.methods:Patient"}
    write(tmp_path, method=method, space={"marker": str(marker)})
    code, _ = kill_in_the_middle(tmp_path, after=2)
    assert code == -signal.SIGKILL
    folder = tmp_path / "runs" / "quadratic"
    before = results(folder)
    assert {replicate for _, replicate in before} == {0, 1}
    marker.touch()
    output = run(tmp_path, "resume", folder)
    after = results(folder)
    assert after[: len(before)] == before
    assert len(after) == len(set(after)) == 12
    assert "the budget of 12 runs is spent" in output
    expected = board(undisturbed[0])
    for row, wanted in zip(board(folder), expected, strict=True):  # the ids differ by the parameter `marker` only
        assert row["params"]["x"] == wanted["params"]["x"]
        assert row["scores"] == wanted["scores"]
        for key in ("replicates", "mean", "sd", "ci_low", "ci_high", "tied", "status"):
            assert row[key] == wanted[key], key


def test_tpe_decides_again_what_its_ledger_says(tmp_path, fake_loop):
    write(tmp_path, sampler="tpe", budget={"runs": 24})
    run(tmp_path, "search", "spec.yaml")
    folder = tmp_path / "runs" / "quadratic"
    cut_off(folder, after=8, last="ask")
    run(tmp_path, "resume", folder)
    events, _ = scan(folder / "ledger.jsonl")
    specification = from_dict(read(folder / "ledger.jsonl").search["specification"])
    assert sum(event["event"] == "ask" for event in events) == 8
    decides_again(specification, events)


def decides_again(specification, events):
    """Every line that a decision wrote follows again from the lines before it."""
    policy, proposer = specification.parts.policy, specification.parts.proposer
    checked = 0
    for index, event in enumerate(events):
        first = event["event"] == "ask" or (event["event"] == "start" and events[index - 1]["event"] != "ask")
        if first and event.get("phase") != "confirm":
            decision = next_run(replay(events[:index]), policy, proposer)
            for offset, decided in enumerate(decision.events):
                line = events[index + offset]
                if line["event"] == "search":  # killed between the two lines of a decision
                    break
                assert decided == {key: value for key, value in line.items() if key != "time"}
            checked += 1
    assert checked > 5


RACE = {
    "name": "race",
    "sampler": "tpe",
    "budget": {"runs": 24},
    "method": {"trainable": "tests.methods:Tested", "space": "tests.methods:space"},
    "replicates": {"policy": "race", "min": 2, "max": 6, "confirm": {"top": 2, "fresh": 3}},
}


@pytest.fixture(scope="module")
def raced(tmp_path_factory, ray_here):
    folder = write(tmp_path_factory.mktemp("raced"), **RACE)
    output = run(folder, "search", "spec.yaml")
    return folder / "runs" / "race", output


def test_a_race_decides_again_what_its_ledger_says_and_ends_with_fresh_seeds(raced):
    folder, output = raced
    check_race(folder)
    assert "P(best) fresh" in output


def test_a_race_that_is_cut_off_in_its_search_and_in_its_confirmation_is_whole_in_the_end(tmp_path, fake_loop):
    folder = write(tmp_path, **RACE | {"method": SPECIFICATION["method"]}) / "runs" / "race"
    run(tmp_path, "search", "spec.yaml")
    for results_left in (8, 20):
        cut_off(folder, after=results_left)
        before = results(folder)
        run(tmp_path, "resume", folder)
        assert results(folder)[:results_left] == before
        check_race(folder)


def check_race(folder):
    events, _ = scan(folder / "ledger.jsonl")
    state = read(folder / "ledger.jsonl")
    decides_again(from_dict(state.search["specification"]), events)
    assert sum(event["event"] == "freeze" for event in events) == 1
    assert sum(event["event"] == "result" for event in events) == 24
    assert len(state.frozen) == 2
    phases = {(run.config_id, run.replicate): run.phase for run in state.runs()}
    assert sum(phase == "confirm" for phase in phases.values()) == 6
    assert all((replicate >= 1000) == (phase == "confirm") for (_, replicate), phase in phases.items())
    rows = board(folder)
    assert tuple(row["config_id"] for row in rows[:2]) == state.frozen
    assert rows[0]["fresh"]["replicates"] == 3
    assert rows[2]["fresh"] is None


def test_test_sets_are_in_no_process_of_the_search_phase(raced):
    """The method looks through all objects of its process for what `prepare_test` returned."""
    state = read(raced[0] / "ledger.jsonl")
    for result in state.runs():
        assert result.metrics["secret_in_memory"] == (1.0 if result.phase == "confirm" else 0.0)
        assert ("test/value/x" in result.metrics) == (result.phase == "confirm")


@pytest.mark.extended
def test_workers_of_a_race_that_was_cut_off_hold_test_sets_in_the_confirmation_alone(raced, tmp_path):
    folder = tmp_path / "again"
    shutil.copytree(raced[0], folder)
    for results_left in (8, 20):
        cut_off(folder, after=results_left)
        run(tmp_path, "resume", folder)
        check_race(folder)
        for result in read(folder / "ledger.jsonl").runs():
            assert result.metrics["secret_in_memory"] == (1.0 if result.phase == "confirm" else 0.0)
            assert ("test/value/x" in result.metrics) == (result.phase == "confirm")


def test_the_best_of_a_race_has_its_fresh_scores_and_reruns_to_them(raced):
    folder, _ = raced
    home = folder.parent.parent
    exported = yaml12.load((folder / "best.yaml").read_text())
    fresh = [replicate["metrics"]["value"] for replicate in exported["replicates"] if replicate["replicate"] >= 1000]
    assert exported["confirmed"]["mean"] == pytest.approx(sum(fresh) / 3)
    assert exported["confirmed"]["optimism"] == pytest.approx(exported["score"]["estimate"] - sum(fresh) / 3)
    assert exported["test"]["test/value"]["x"]["n"] == 3
    output = run(home, "run", without_tracking(folder / "best.yaml"), "--out", "again")
    assert f"All scores of {len(exported['replicates'])} replicates equal those of" in output


def test_an_earlier_search_goes_first_in_a_later_one(raced, fake_loop):
    folder, _ = raced
    home = folder.parent.parent
    arguments = ("search", "spec.yaml", "--from", folder, "--out", "later")
    later = ("--set", "seed=1", "--set", "budget.runs=4", "--set", "replicates.confirm.top=0")
    assert "# from earlier searches:" in run(home, *arguments, *later, "--dry-run")
    run(home, *arguments, *later)
    state = read(home / "later" / "ledger.jsonl")
    assert next(iter(state.configurations)) == board(folder)[0]["config_id"]
    assert "there is no search here" in run(home, "search", "spec.yaml", "--from", "nowhere", "--out", "x", code=2)


def test_a_decomposition_separates_the_streams(undisturbed):
    """The noise of this method comes only from the data order."""
    folder, _ = undisturbed
    settings = ("--set", "tracking.uri=off", "--set", "checkpoints.seconds=7")
    output = run(folder, "run", "best.yaml", "--decompose", "--out", "parts", *settings)
    resolved = yaml12.load((folder / "parts" / "search.yaml").read_text())
    assert (resolved["tracking"]["uri"], resolved["checkpoints"]["seconds"]) == ("off", 7.0)
    assert not list(folder.rglob("mlflow.db"))
    rows = {row["stream"]: row for row in json.loads((folder / "parts" / "decomposition.json").read_text())}
    assert rows.keys() == {"all", "head", "order", "dropout", "augmentation", "anchors", "words", "masks"}
    assert rows["order"]["share"] == pytest.approx(1.0)
    assert all(row["sd"] == 0 for stream, row in rows.items() if stream not in ("all", "order"))
    assert all((row["n"], row["of"], row["languages"]) == (8, 8, []) for row in rows.values())
    assert "Most of the spread comes from data order" in output
    assert "All scores of 3 replicates equal those of best.yaml." in output
    assert not (folder / "parts" / "report.html").exists()
    assert "parts: it holds the decomposition of one configuration. Report on" in run(folder, "report", "parts", code=2)


def test_poor_first_runs_are_pruned_and_get_no_more_replicates(tmp_path):
    write(tmp_path, prune="asha", budget={"runs": 30}, space={"epochs": 9})
    run(tmp_path, "search", "spec.yaml")
    state = read(tmp_path / "runs" / "quadratic" / "ledger.jsonl")
    pruned = [configuration for configuration in state.configurations.values() if configuration.pruned]
    assert pruned
    assert all(len(configuration.runs) == 1 and configuration.runs[0].step in (1, 3) for configuration in pruned)
    others = [configuration for configuration in state.configurations.values() if not configuration.pruned]
    assert all(configuration.runs[0].step == 9 for configuration in others)
    assert (
        sum(sorted(configuration.runs) != [0, 1, 2] for configuration in others) <= 1
    )  # the configuration at which the budget ended
    assert len(state.configurations) > 10  # what pruning saved pays for more configurations
    rows = board(tmp_path / "runs" / "quadratic")
    assert [row["config_id"] for row in rows if row["status"] == "pruned"] == [
        configuration.config_id for configuration in pruned
    ]
    assert rows[0]["status"] != "pruned"


def test_resuming_a_finished_search_does_nothing_and_says_so(undisturbed):
    folder, _ = undisturbed
    before = (folder / "ledger.jsonl").read_bytes()
    for arguments in (("resume", folder), ("search", "spec.yaml")):
        output = " ".join(run(folder.parent.parent, *arguments).split())
        assert "is finished (12 runs: the budget of 12 runs is spent); nothing was started." in output
        searched = arguments[0] == "search"
        again = ("spec.yaml", "--out", "runs/quadratic-2") if searched else ("SPEC", "--out", f"{folder}-2")
        assert f"A new search needs a new folder: {typed(folder.parent.parent, 'search', *again)}" in output
    assert (folder / "ledger.jsonl").read_bytes() == before


def test_another_specification_in_the_same_folder_is_refused(undisturbed):
    folder, _ = undisturbed
    output = run(folder.parent.parent, "search", "spec.yaml", "--set", "seed=5", code=2)
    assert "runs/quadratic: holds a search with seed: 0, the specification has 5." in output


def test_the_exported_configuration_reruns_to_the_same_scores(undisturbed):
    folder, _ = undisturbed
    home = folder.parent.parent
    run(home, "export", folder, "--to", "mine.yaml")
    exported = yaml12.load(without_tracking(home / "mine.yaml").read_text())
    assert len(exported["replicates"]) == 3
    assert {"head", "order", "dropout"} <= exported["replicates"][0]["seeds"].keys()
    output = run(home, "run", "mine.yaml", "--out", "again")
    assert "All scores of 3 replicates equal those of mine.yaml." in output
    rerun = board(home / "again")
    assert len(rerun) == 1
    assert rerun[0]["config_id"] == exported["config_id"]
    original = board(folder)[0]
    assert (rerun[0]["mean"], rerun[0]["sd"], rerun[0]["scores"]) == (
        original["mean"],
        original["sd"],
        original["scores"],
    )
    exported["replicates"][1]["metrics"]["value"] += 0.125
    (home / "wrong.yaml").write_text(yaml12.dump(exported))
    more = run(home, "run", "wrong.yaml", "--replicates", "5", "--out", "more", code=1)
    assert "1 metrics of 3 replicates differ from wrong.yaml." in more
    assert board(home / "more")[0]["replicates"] == 5


def test_an_edited_configuration_is_not_compared(undisturbed):
    folder, _ = undisturbed
    exported = yaml12.load((folder / "best.yaml").read_text())
    exported["params"]["x"] = 0.123
    (folder / "edited.yaml").write_text(yaml12.dump(exported))
    assert "params: they do not match config_id" in run(folder, "run", "edited.yaml", code=2)
    (folder / "other.yaml").write_text("name: x\n")
    assert "other.yaml: not an exported configuration" in run(folder, "run", "other.yaml", code=2)


def test_a_metric_that_is_not_reported_is_a_failure_with_the_names_that_are(tmp_path, fake_loop):
    write(tmp_path, select={"on": "metric", "metric": "valeu"}, budget={"runs": 3})
    output = run(tmp_path, "search", "spec.yaml", code=1)
    assert "the run reported value, memory but not valeu, which ranks" in output


def test_a_grid_that_was_cut_off_is_whole_in_the_end(tmp_path, fake_loop):
    """Each point of the grid runs once at every replicate, with the scores that the method gives outside Ray."""
    grid = [0.1, 0.3, 0.6, 0.9]
    write(tmp_path, sampler="grid", space={"x": grid}, budget={"runs": 12})
    run(tmp_path, "search", "spec.yaml")
    cut_off(tmp_path / "runs" / "quadratic", after=4)
    run(tmp_path, "resume", tmp_path / "runs" / "quadratic")
    rows = board(tmp_path / "runs" / "quadratic")
    assert sorted(row["params"]["x"] for row in rows) == grid
    for row in rows:
        alone = [Quadratic(None, {"x": row["params"]["x"]}, Streams(0, replicate), None) for replicate in range(3)]
        values = [[method.epoch(number)["value"] for number in range(2)][-1] for method in alone]
        assert row["mean"] == pytest.approx(sum(values) / 3, abs=1e-12)


def test_a_search_folder_of_the_first_version_still_works(undisturbed, tmp_path):
    """Its ledger has no confirmation and no freeze; its results stay readable."""
    folder, _ = undisturbed
    old = tmp_path / "old"
    old.mkdir()
    events = [json.loads(line) for line in (folder / "ledger.jsonl").read_text().splitlines()]
    for event in events:
        if event["event"] == "search":
            event["specification"]["replicates"] = {"policy": "fixed", "n": 3}
            for key in ("prune", "decompose"):
                del event["specification"][key]
    lines = [json.dumps(event) for event in events if event["event"] != "freeze"]
    (old / "ledger.jsonl").write_text("\n".join(lines) + "\n")
    assert "12/12 runs" in run(tmp_path, "status", "old")
    assert "is finished (12 runs" in run(tmp_path, "resume", "old")
    run(tmp_path, "export", "old")
    assert yaml12.load((old / "best.yaml").read_text())["config_id"] == board(folder)[0]["config_id"]


def test_status_from_another_terminal(undisturbed, tmp_path):
    folder, _ = undisturbed
    output = run(tmp_path, "status", folder)
    assert "12/12 runs" in output
    assert "finished: the budget of 12 runs is spent" in output
    assert "there is no search here" in run(tmp_path, "status", "nowhere", code=2)


@pytest.mark.extended
@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_says_how_to_go_on(tmp_path, signal_number):
    write(tmp_path, space={"seconds": 0.3}, budget={"runs": 120})  # far from its end when the signal comes
    code, output = kill_in_the_middle(tmp_path, after=2, signal_number=signal_number)
    assert code == 130, output
    assert f"interrupted. Continue with: {typed(tmp_path, 'resume', 'runs/quadratic')}" in output
    assert "Traceback" not in output
    status = run(tmp_path, "status", "runs/quadratic")
    assert "interrupted; continue with" in status
    assert "running" not in status


def test_a_wrong_request_is_one_line_and_code_2(tmp_path):
    write(tmp_path, sampler="bad")
    output = run(tmp_path, "search", "spec.yaml", code=2)
    assert output == "seedwise: sampler: 'bad' is wrong: input should be 'tpe', 'gp', 'random' or 'grid'.\n"
    assert not (tmp_path / "runs").exists()


def test_every_kind_of_failure_is_recorded_and_never_flatters(tmp_path):
    write(
        tmp_path,
        method={"trainable": "tests.methods:Quadratic", "space": "tests.methods:troubled"},
        sampler="grid",
        budget={"runs": 12},
        replicates={"policy": "fixed", "n": 2, "confirm": {"top": 0}},
    )
    run(tmp_path, "search", "spec.yaml")
    folder = tmp_path / "runs" / "quadratic"
    state = read(folder / "ledger.jsonl")
    by_trouble = {c.params["trouble"]: c.runs[1] for c in state.configurations.values()}
    assert {trouble: run.status for trouble, run in by_trouble.items()} == {
        "none": "done",
        "nan": "failed:nan",
        "collapsed": "done",  # its scores count
        "oom": "failed:oom",
        "error": "failed:error",
        "die": "failed:error",
    }
    assert re.match(r"KeyError: 'lost' \(methods.py:\d+\)", by_trouble["error"].error)
    assert "its worker process died" in by_trouble["die"].error
    rows = board(folder)
    assert rows[0]["params"]["trouble"] == "none"
    assert rows[0]["failed"] == 0
    assert all(row["failed"] == (row["params"]["trouble"] != "collapsed") for row in rows[1:])
    assert all(row["mean"] < rows[0]["mean"] for row in rows[1:])
    (collapsed,) = (row for row in rows if row["params"]["trouble"] == "collapsed")
    assert collapsed["collapsed"] == {"run": 1}
    (runs,) = (c.runs for c in state.configurations.values() if c.params["trouble"] == "collapsed")
    assert collapsed["mean"] == pytest.approx((runs[0].metrics["value"] + 0.1) / 2)


def test_a_run_whose_worker_was_killed_goes_on_from_its_checkpoint(tmp_path):
    marker = tmp_path / "marker"
    write(
        tmp_path,
        method={"trainable": "tests.methods:DiesOnce", "space": "tests.methods:space"},
        space={"x": 0.5, "marker": str(marker)},
        budget={"runs": 2},
        replicates={"policy": "fixed", "n": 2, "confirm": {"top": 0}},
        checkpoints={"seconds": 0},
    )
    run(tmp_path, "search", "spec.yaml")
    folder = tmp_path / "runs" / "quadratic"
    epochs = marker.read_text().split()
    for replicate in ("0", "1"):
        done = [entry.split(":")[1] for entry in epochs if entry.startswith(replicate)]
        assert done == ["0", "1", "2", "3", "3", "4"], "epochs before the checkpoint were repeated, or lost"
    runs = next(iter(read(folder / "ledger.jsonl").configurations.values())).runs
    from seedwise.trainables.streams import Streams
    from tests.methods import Quadratic

    for replicate in (0, 1):
        straight = Quadratic(None, {"x": 0.5}, Streams(0, replicate), None)
        assert runs[replicate].metrics == [straight.epoch(number) for number in range(5)][-1]
    assert not list((folder / "checkpoints").iterdir()), "states of finished runs are removed"


@pytest.mark.extended
def test_a_run_goes_on_from_its_checkpoint_after_the_driver_was_killed(tmp_path):
    marker = tmp_path / "marker"
    marker.write_text("0:3\n0:3\n1:3\n1:3\n")  # no run fails by itself this time
    write(
        tmp_path,
        method={"trainable": "tests.methods:DiesOnce", "space": "tests.methods:space"},
        space={"x": 0.5, "marker": str(marker), "seconds": 0.5},
        budget={"runs": 2},
        replicates={"policy": "fixed", "n": 2, "confirm": {"top": 0}},
        checkpoints={"seconds": 0},
        resources={"cpus_per_run": int(ray.cluster_resources()["CPU"])},
    )
    kill_in_the_middle(tmp_path, after=1)
    folder = tmp_path / "runs" / "quadratic"
    marker.write_text(marker.read_text() + "resumed\n")
    run(tmp_path, "resume", folder)
    assert results(folder) == [(results(folder)[0][0], 0), (results(folder)[0][0], 1)]
    before, after = marker.read_text().split("resumed\n")
    repeated = [line for line in after.split() if line in before.split()[4:]]
    assert len(repeated) <= 1, "at most the epoch that was running is done again"


@pytest.mark.extended
def test_the_guide_to_a_users_method_and_policy_runs_as_written(tmp_path):
    code, specification, policy, replicates = re.findall(
        r"```(?:python|yaml)\n(.*?)```", (ROOT / "docs" / "extending.md").read_text(), re.S
    )
    (tmp_path / "prototypes.py").write_text(code)
    (tmp_path / "prototypes.yaml").write_text(specification)
    run(tmp_path, "search", "prototypes.yaml", "--set", "tracking.uri=off", apart=True)
    rows = board(tmp_path / "runs" / "prototypes")
    assert len(rows) == 4
    assert rows[0]["mean"] > 0.8
    assert rows[0]["mean"] - rows[-1]["mean"] > 0.05
    (tmp_path / "thrifty.py").write_text(policy)
    spec = yaml12.load(specification) | yaml12.load(replicates) | {"budget": {"runs": 16}, "tracking": {"uri": "off"}}
    spec["replicates"]["confirm"] = {"top": 1, "fresh": 4}
    (tmp_path / "thrifty.yaml").write_text(yaml12.dump(spec))
    run(tmp_path, "search", "thrifty.yaml", "--out", "thrifty", apart=True)
    assert len(list((tmp_path / "thrifty" / "pictures").iterdir())) == 1
    assert "Where three prototypes have their ink" in (tmp_path / "thrifty" / "report.html").read_text()
    counts = [row["replicates"] for row in board(tmp_path / "thrifty")]
    assert sum(counts) == 12
    assert max(counts) == 3
    assert 1 in counts


def test_a_dry_run_shows_everything_and_starts_nothing(tmp_path):
    write(tmp_path)
    output = run(tmp_path, "search", "spec.yaml", "--dry-run", "--set", "budget.runs=30")
    resolved = yaml12.load("\n".join(line for line in output.splitlines() if not line.startswith("#")))
    assert resolved["budget"]["runs"] == 30
    assert from_dict(resolved).as_dict() == resolved
    assert f"# slots: {os.cpu_count()} (1 CPU and 0 GPU per run)" in output
    assert "# space: infinite (x continuous)" in output
    assert "# budget: at most 30 runs, 10 configurations or more" in output
    assert not (tmp_path / "runs").exists()


@pytest.fixture
def removed_sampler(tmp_path, fake_loop):
    """An unfinished search whose ledger names a sampler that no longer exists."""
    write(tmp_path, sampler="tpe")
    run(tmp_path, "search", "spec.yaml")
    folder = tmp_path / "runs" / "quadratic"
    cut_off(folder, after=6)
    ledger = folder / "ledger.jsonl"
    ledger.write_text(ledger.read_text().replace('"sampler": "tpe"', '"sampler": "cmaes"'))
    return folder


def test_a_search_of_a_removed_sampler_opens_and_goes_on_with_another(removed_sampler, fake_loop):
    folder, before = removed_sampler, results(removed_sampler)
    for arguments in (["status", folder], ["report", folder], ["compare", folder], ["export", folder]):
        assert "was removed" not in run(folder.parent, *arguments)
    refused = run(folder.parent, "resume", folder, code=2)
    again = typed(folder.parent, "resume", folder, "--set", "sampler=tpe")
    assert refused == f"seedwise: sampler: cmaes was removed. Continue with another: {again}\n"
    for setting, problem in (
        ("budget.runs=20", "--set budget.runs: only the sampler of a search that has begun can be changed."),
        ("sampler=cmaes", "sampler: cmaes was removed."),
        ("sampler=best", "sampler: 'best' is wrong: input should be 'tpe', 'gp', 'random' or 'grid'"),
    ):
        assert problem in run(folder.parent, "resume", folder, "--set", setting, code=2)
    assert results(folder) == before

    run(folder.parent, "resume", folder, "--set", "sampler=tpe")
    assert results(folder)[:6] == before
    assert len(results(folder)) == 12
    events, _ = scan(folder / "ledger.jsonl")
    sessions = [event["specification"]["sampler"] for event in events if event["event"] == "search"]
    assert sessions == ["cmaes", "tpe"]
    assert read(folder / "ledger.jsonl").specification["sampler"] == "tpe"
    assert "nothing was started" in run(folder.parent, "resume", folder)


def test_a_new_search_with_a_removed_sampler_is_refused(tmp_path):
    write(tmp_path, sampler="cmaes")
    output = run(tmp_path, "search", "spec.yaml", code=2)
    assert output == "seedwise: sampler: cmaes was removed. Choose another: tpe, gp, random, grid.\n"
