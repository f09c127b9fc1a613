"""What a search does when something fails: the rows of docs/reliability.md that no other file tests."""

import json
import os
import signal
import subprocess
import tarfile
import threading
import time
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedwise.errors import SearchError
from seedwise.search.execution import coordination, in_flight
from seedwise.search.execution.checkpoints import CheckpointStore, pack, unpack
from seedwise.search.execution.in_flight import TIMEOUT, InFlight, RunsInFlight
from seedwise.search.execution.worker_loss import (
    DIED,
    NODE,
    NODES,
    OUT_OF_MEMORY,
    RESTARTS,
    SILENT,
    cause_of,
    lost_too_often,
)
from seedwise.search.ledger.file import Ledger, read, scan
from seedwise.search.ledger.state import Run
from tests.search.story import TEST_TIMEOUT
from tests.search.studies.test_search import board, command, environment, results, run, typed, write

pytestmark = pytest.mark.usefixtures("ray_here")


def events(folder, kind):
    return [event for event in scan(folder / "ledger.jsonl")[0] if event["event"] == kind]


@pytest.mark.extended
def test_runs_that_hang_end_workers_that_freeze_are_replaced_and_memory_that_ran_out_is_tried_alone(tmp_path):
    write(
        tmp_path,
        method={"trainable": "tests.methods:Stuck", "space": "tests.methods:space"},
        sampler="grid",
        space={"x": 0.5, "marker": str(tmp_path), "trouble": {"choices": ["hang", "freeze", "full", "none"]}},
        budget={"runs": 8},
        replicates={"policy": "fixed", "n": 2, "confirm": {"top": 0}},
        resources={"minutes_per_run": 0.25, "heartbeat_timeout_minutes": 0.1},
        checkpoints={"seconds": 0},
    )
    run(tmp_path, "search", "spec.yaml")
    folder = tmp_path / "runs" / "quadratic"
    state = read(folder / "ledger.jsonl")
    by_trouble = {configuration.params["trouble"]: configuration for configuration in state.configurations.values()}
    assert {kind: configuration.runs[1].status for kind, configuration in by_trouble.items()} == {
        "hang": "failed:timeout",
        "freeze": "done",
        "full": "done",
        "none": "done",
    }
    assert by_trouble["hang"].runs[1].error == "it took longer than 0.25 minutes"
    assert by_trouble["hang"].runs[1].metrics, "those of its first epoch are kept"
    for kind in ("freeze", "full"):
        assert by_trouble[kind].runs[1].metrics == by_trouble["none"].runs[1].metrics
    assert all(configuration.runs[0].status == "done" for configuration in by_trouble.values())
    frozen = (by_trouble["freeze"].config_id, 1, "its worker sent no heartbeat")
    assert frozen in [(loss["config_id"], loss["replicate"], loss["because"]) for loss in events(folder, "lost")]
    (waited,) = events(folder, "wait")
    assert waited["config_id"] == by_trouble["full"].config_id
    assert waited["because"].startswith("MemoryError: no room (methods.py:")
    last = events(folder, "result")[-1]
    assert (last["config_id"], last["replicate"], last["alone"]) == (by_trouble["full"].config_id, 1, True)
    assert len(results(folder)) == len(set(results(folder))) == 8


def test_a_request_to_stop_saves_running_epochs_and_the_search_continues_from_them(tmp_path):
    marker = tmp_path / "marker"
    marker.write_text("0:3\n0:3\n1:3\n1:3\n")  # no run fails by itself
    write(
        tmp_path,
        method={"trainable": "tests.methods:DiesOnce", "space": "tests.methods:space"},
        space={"x": 0.5, "marker": str(marker), "seconds": 1.0},
        budget={"runs": 2},
        replicates={"policy": "fixed", "n": 2, "confirm": {"top": 0}},
    )
    folder = tmp_path / "runs" / "quadratic"
    process, wait_until = watched(tmp_path, "search", "spec.yaml")
    wait_until(lambda: len({step["replicate"] for step in events(folder, "step")}) == min(2, os.cpu_count()))
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=TEST_TIMEOUT)
    assert process.returncode == 130, output
    assert "stopping: running epochs have 20 s to end and be saved" in output
    assert f"interrupted. Continue with: {typed(tmp_path, 'resume', 'runs/quadratic')}" in output
    assert not results(folder)
    kept = {path.name.partition("-")[2]: path for path in (folder / "checkpoints").iterdir()}
    assert kept.keys() == {"0.tar", "1.tar"}
    saved = {name: epochs_in(path) for name, path in kept.items()}
    before = marker.read_text()
    for name, epochs in saved.items():
        assert epochs == before.count(f"{name[0]}:") - 2, "an epoch that had begun was saved when it ended"
    run(tmp_path, "resume", folder)
    for replicate in "01":
        entries = [line for line in marker.read_text().split()[4:] if line.startswith(replicate)]
        assert entries == [f"{replicate}:{epoch}" for epoch in range(5)], "no epoch was done twice"


def epochs_in(path):
    with tarfile.open(path) as state:
        return json.load(state.extractfile("./epoch.json"))["epoch"]


@pytest.mark.extended
def test_a_second_interrupt_leaves_at_once(tmp_path):
    write(tmp_path)
    process, wait_until = watched(tmp_path, "search", "spec.yaml", "--set", "space.seconds=100")
    wait_until(lambda: events(tmp_path / "runs" / "quadratic", "start"))
    wait_until(lambda: "runs at once" in process.output)
    process.send_signal(signal.SIGINT)
    wait_until(lambda: "repeat to quit at once" in process.output)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=TEST_TIMEOUT)
    assert process.returncode == 130


def watched(folder, *arguments):
    """A process with its output so far in `output`, and a function that waits for a condition while it runs."""
    process = subprocess.Popen(
        command(*arguments),
        cwd=folder,
        env=environment(PYTHONUNBUFFERED="1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    process.output = ""

    def read_on():
        while line := process.stdout.readline():
            process.output += line

    reader = threading.Thread(target=read_on, daemon=True)
    reader.start()
    process.communicate = lambda timeout: (process.wait(timeout), reader.join(timeout)) and (process.output, None)

    def wait_until(condition):
        pause, deadline = threading.Event(), time.monotonic() + TEST_TIMEOUT
        while not ((folder / "runs" / "quadratic" / "ledger.jsonl").exists() and condition()):
            assert process.poll() is None, process.output
            if time.monotonic() > deadline:
                process.kill()
                pytest.fail(f"it did not come about: {process.output}")
            pause.wait(0.05)

    return process, wait_until


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 48 kB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=48k", "tmpfs", str(disk)], capture_output=True, text=True
    )
    if made.returncode:
        pytest.skip(f"no small disk: {made.stderr.strip()}")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_full_disk_ends_the_search_in_one_line_and_resume_continues_it(tmp_path, small_disk, fake_loop):
    write(tmp_path, budget={"runs": 12})
    (small_disk / "filler").write_bytes(b"x" * 36_000)
    output = run(tmp_path, "search", "spec.yaml", "--out", small_disk / "q", code=1)
    assert "ledger.jsonl: No space left on device. Make room there, then: " in output
    assert "Traceback" not in output
    before = results(small_disk / "q")
    assert len(before) < 12
    subprocess.run(["mount", "-o", "remount,size=16m", str(small_disk)], check=True)
    run(tmp_path, "resume", small_disk / "q")
    after = results(small_disk / "q")
    assert after[: len(before)] == before
    assert len(after) == len(set(after)) == 12


def test_a_ledger_that_cannot_be_written_keeps_whole_lines_only(tmp_path, small_disk):
    ledger = Ledger(small_disk / "ledger.jsonl")
    lines = [{"event": "note", "number": number, "text": "x" * 100} for number in range(10_000)]
    with pytest.raises(SearchError, match="No space left"):
        list(map(ledger.append, lines))
    lines = [json.loads(line) for line in (small_disk / "ledger.jsonl").read_text().splitlines()]
    assert [line["number"] for line in lines] == list(range(len(lines)))
    assert len(lines) > 100
    ledger.close()


@pytest.mark.parametrize(
    ("losses", "alive", "expected"),
    [
        ([(DIED, "a")] * RESTARTS, "a", False),
        ([(DIED, "a")] * (RESTARTS + 1), "a", True),
        ([(DIED, "")] * (RESTARTS + 1), "a", True),
        ([(DIED, "a")] * 5, "b", False),  # the node was lost: not a failure of the run
        ([(NODE, "a")] * NODES, "b", False),
        ([(NODE, "a")] * (NODES + 1), "b", True),
        ([(DIED, "a"), (NODE, "b"), (DIED, "a"), (NODE, "c")], "a", False),
    ],
)
def test_a_run_is_given_up_after_too_many_losses(losses, alive, expected):
    assert lost_too_often(losses, {alive}) == expected


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("The actor died because its node has died. Node Id: 2ef4", NODE),
        ("Task was killed due to the node running low on memory.", OUT_OF_MEMORY),
        ("The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR", DIED),
        ("", DIED),
    ],
)
def test_causes_of_death_are_read_from_rays_errors(tmp_path, text, cause):
    (tmp_path / "error.txt").write_text(f"Failure # 1\n{text}\n")
    assert cause_of(tmp_path / "error.txt").reason == cause
    assert cause_of(tmp_path / "none.txt").reason == DIED


class TestWatchdog:
    """With the test's own clock and heartbeats."""

    @pytest.fixture
    def watch(self, monkeypatch):
        """A function that watches one run and returns a function: the runs that hang at a given time."""

        def start(limit, silence, heartbeats):
            clock = SimpleNamespace(now=0.0)
            monkeypatch.setattr(in_flight, "time", SimpleNamespace(monotonic=lambda: clock.now))
            monkeypatch.setattr(coordination, "last_heartbeat", lambda session, run: heartbeats.get(run))
            runs = RunsInFlight("session", limit, silence, {"trial": InFlight(Run("a", 0, "search"))})
            runs.begin(SimpleNamespace(trial_id="trial"))

            def hung(now):
                clock.now = now
                return [reason for _, reason in runs.hung()]

            return runs, hung

        return start

    def test_a_run_is_timed_from_its_first_heartbeat_and_not_while_it_waits_for_a_worker(self, watch):
        heartbeats = {}
        runs, hung = watch(60.0, 1000.0, heartbeats)
        assert hung(200.0) == []
        heartbeats["a-0"] = b"1"
        assert hung(300.0) == []
        assert hung(350.0) == []
        assert hung(370.0) == [TIMEOUT]
        hung(380.0)
        assert runs.remove("trial") == 80.0
        assert hung(1000.0) == []

    def test_stopped_heartbeats_are_noticed_and_old_heartbeats_are_ignored(self, watch):
        heartbeats = {"a-0": b"0"}
        _, hung = watch(None, 40.0, heartbeats)
        for now in range(10, 200, 10):
            heartbeats["a-0"] = str(now).encode()
            assert hung(now) == []
        assert hung(210.0) == hung(230.0) == []
        assert hung(232.0) == [], "it has just checked"
        assert hung(241.0) == [SILENT]


@given(st.dictionaries(st.from_regex(r"[a-z]{1,8}(/[a-z]{1,8})?", fullmatch=True), st.binary(max_size=200), max_size=4))
def test_a_packed_state_is_unpacked_as_it_was(tmp_path_factory, files):
    folder, there = tmp_path_factory.mktemp("state"), tmp_path_factory.mktemp("there")
    for name, content in files.items():
        if not any((folder / name).is_relative_to(folder / other) for other in files if other != name):
            (folder / name).parent.mkdir(exist_ok=True)
            if not (folder / name).is_dir():
                (folder / name).write_bytes(content)
    unpack(pack(folder), there)
    written = {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert {path.relative_to(there): path.read_bytes() for path in there.rglob("*") if path.is_file()} == written


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_the_checkpoint_store_keeps_the_latest_of_each_run(tmp_path, scheme):
    store = CheckpointStore(f"{scheme}{tmp_path}/states")
    assert store.load("a-0") is None
    store.remove("a-0")
    store.save("a-0", b"first")
    store.save("a-0", b"second")
    store.save("a-1", b"other")
    assert (store.load("a-0"), store.load("a-1")) == (b"second", b"other")
    store.remove("a-0")
    assert store.load("a-0") is None
    assert [path.name for path in (tmp_path / "states").iterdir()] == ["a-1.tar"]


@pytest.mark.parametrize("path", ["states", "~/states", "nonsense://bucket/states"])
def test_a_location_without_room_for_checkpoints_is_refused_before_anything_starts(tmp_path, path):
    write(tmp_path, checkpoints={"path": path})
    output = run(tmp_path, "search", "spec.yaml", code=2)
    assert output.startswith(f"seedwise: checkpoints.path: {path}: ")
    assert "Write an absolute path, or an address such as s3://bucket/states." in output
    assert not (tmp_path / "runs").exists()


def test_checkpoints_at_a_shared_location_are_used_and_removed(tmp_path):
    """The driver's folder holds no checkpoint, and a run whose worker died continues from the shared checkpoint."""
    marker = tmp_path / "marker"
    write(
        tmp_path,
        method={"trainable": "tests.methods:DiesOnce", "space": "tests.methods:space"},
        space={"x": 0.5, "marker": str(marker)},
        budget={"runs": 1},
        replicates={"policy": "fixed", "n": 1, "confirm": {"top": 0}},
        checkpoints={"seconds": 0, "path": f"file://{tmp_path}/shared"},
    )
    run(tmp_path, "search", "spec.yaml")
    assert marker.read_text().split() == ["0:0", "0:1", "0:2", "0:3", "0:3", "0:4"]
    search_id = read(tmp_path / "runs" / "quadratic" / "ledger.jsonl").search["search_id"]
    assert list((tmp_path / "shared" / search_id).iterdir()) == []
    assert not (tmp_path / "runs" / "quadratic" / "checkpoints").exists()


def test_a_measured_share_is_written_down_kept_and_exported(tmp_path):
    """`auto` CPUs: the probe is a real process, and a resumed search keeps its number of threads."""
    write(tmp_path, resources={"cpus_per_run": "auto"}, budget={"runs": 6})
    output = run(tmp_path, "search", "spec.yaml")
    folder = tmp_path / "runs" / "quadratic"
    (placed,) = events(folder, "place")
    assert 10 << 20 < placed["need"]["memory"] < 8 << 30, "a Python process with torch"
    assert (placed["cpus"], placed["gpus"]) == (1, 0.0)
    assert f"{os.cpu_count()} runs at once, 1 CPU each (there is no GPU; the largest run needs" in output
    from seedwise import yaml12

    best = yaml12.load((folder / "best.yaml").read_text())
    assert best["specification"]["resources"]["cpus_per_run"] == 1
    assert len(board(folder)) == 2
