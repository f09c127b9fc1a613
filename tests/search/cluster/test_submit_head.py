"""A search as a job on a cluster: following, detaching, stopping and continuing it, and fetching results.

The cluster, the MLflow server and its PostgreSQL database are real, and are started and ended here.
"""

import contextlib
import hashlib
import os
import re
import signal
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from seedwise import yaml12
from seedwise.search.ledger.file import scan
from seedwise.search.spec import provenance
from tests.search.cluster.test_submit import METHOD, SPECIFICATION
from tests.search.story import TEST_TIMEOUT, runs_of, server
from tests.search.studies.test_search import board, command, results
from tests.servers import Head, Relay, own_port, postgres

pytestmark = pytest.mark.extended


@dataclass
class Submissions:
    """A search submitted twice, with the exit code and the output of each command."""

    folder: Path
    home: Path  # of the head
    head: Head
    mlflow: str
    database: str
    outputs: dict[str, tuple[int, str]] = field(default_factory=dict)
    ledgers: dict[str, bytes] = field(default_factory=dict)  # here, after each fetch
    revisions: set[str] = field(default_factory=set)  # revision of the code, before and after the first submission

    def start(self, *arguments, **environment) -> subprocess.Popen:
        known = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return subprocess.Popen(
            command(*arguments),
            cwd=self.folder,
            env={**known, **self.head.access, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )

    def read_until(self, process: subprocess.Popen, beginning: str) -> str:
        """The output of a process up to the first line that starts with `beginning`."""
        lines = []
        while not (lines and lines[-1].startswith(beginning)):
            lines.append(process.stdout.readline())
            assert lines[-1], "".join(lines)
        return "".join(lines)

    def finish(self, name: str, process: subprocess.Popen, before: str = "") -> None:
        output, _ = process.communicate(timeout=2 * TEST_TIMEOUT)
        self.outputs[name] = process.returncode, before + output
        if (ledger := self.folder / "runs/sent/ledger.jsonl").exists():
            self.ledgers[name] = ledger.read_bytes()


@pytest.fixture(scope="module")
def submissions(tmp_path_factory):
    folder, home, files = (tmp_path_factory.mktemp(name) for name in ("folder", "the home", "artifacts"))
    # A folder with all former import names of this package: nodes must import the folder's own modules.
    (folder / "mine.py").write_text(f"import search, spaces, trainables\nassert search.MINE\n{METHOD}")
    (folder / "search.py").write_text("MINE = True\n")
    (folder / "trainables.py").write_text("")
    for name in ("data", "gates", "spaces"):
        (folder / name).mkdir()
    (folder / "spaces" / "__init__.py").write_text("")
    (folder / "data" / "words.txt").write_text("the\nof\n")
    gates, port = folder / "gates", own_port()
    space = {"gates": str(gates)}
    with Head(home) as head, postgres() as database, server(database, files, port):
        submissions = Submissions(folder, home, head, f"http://127.0.0.1:{port}", database)
        tracking = {"uri": submissions.mlflow}
        (folder / "spec.yaml").write_text(yaml12.dump({**SPECIFICATION, "space": space, "tracking": tracking}))
        here = submissions.start("search", "spec.yaml", "--set", "tracking.uri=off", "--out", "runs/here")
        head.wait()
        with contextlib.closing(Relay(int(head.address.rpartition(":")[2]))) as relay:
            submissions.revisions.add(provenance.revision())
            first = submissions.start("submit", "spec.yaml", "--address", f"http://127.0.0.1:{relay.port}")
            let_pass(gates, 1)
            lines = submissions.read_until(first, "2/10 ")
            submissions.revisions.add(provenance.revision())  # somebody may have committed meanwhile
            relay.cut()
            let_pass(gates, 4, 0)
            lines += submissions.read_until(first, "6/10 ")
            first.send_signal(signal.SIGINT)
            submissions.finish("left", first, lines)
        job = re.search(r"submitted (\S+);", lines)[1]
        of_job = (job, "--address", head.address)
        for name in ("status", "fetch", "stop", "follow"):
            submissions.finish(name, submissions.start("job", name, *of_job))
        let_pass(gates, *range(10))
        submissions.finish("again", submissions.start("submit", "spec.yaml", "--address", head.address))
        submissions.finish("here", here)
        yield submissions


def let_pass(gates: Path, *tenths: int) -> None:
    for tenth in tenths:
        (gates / str(tenth)).touch()


def test_detaching_from_a_job_leaves_it_running_and_prints_how_to_reattach(submissions):
    code, output = submissions.outputs["left"]
    assert code == 130
    for kind in ("follow", "stop", "fetch"):
        assert re.search(rf"seedwise job {kind} sent-\w+ --address http://127.0.0.1:\d+\n", output)
    assert "Traceback" not in output
    code, output = submissions.outputs["status"]
    assert code == 0
    assert re.match(r"sent-\w+: RUNNING, .*, in ~/seedwise/runs/sent\n6/10 ", output)


def test_a_dropped_connection_is_restored_without_losing_or_repeating_a_line(submissions):
    _, output = submissions.outputs["left"]
    assert re.findall(r"^(\d+)/10 ", output, re.MULTILINE) == ["1", "2", "3", "4", "5", "6"]


def test_a_running_search_can_be_fetched_and_later_results_are_added(submissions):
    events = [submissions.ledgers[name] for name in ("fetch", "follow", "again")]
    assert [ledger.count(b'"event": "result"') for ledger in events] == [6, 6, 10]
    assert events[2].startswith(events[1])
    assert events[1].startswith(events[0])


def test_a_stopped_job_ends_as_interrupted_and_its_results_are_fetched(submissions):
    code, output = submissions.outputs["stop"]
    assert (code, "stopped." in output) == (0, True)
    code, output = submissions.outputs["follow"]
    assert code == 130
    assert "seedwise: interrupted." in output


def test_submitting_the_same_specification_again_continues_and_repeats_nothing(submissions):
    code, output = submissions.outputs["again"]
    assert code == 0, output
    assert "10/10" in output
    assert "6/10" not in output
    runs = results(submissions.folder / "runs/sent")
    assert len(runs) == len(set(runs)) == 10


def test_the_leaderboard_is_that_of_the_same_search_without_a_cluster(submissions):
    assert submissions.outputs["here"][0] == 0, submissions.outputs["here"][1]
    assert board(submissions.folder / "runs/sent") == board(submissions.folder / "runs/here")
    assert not (submissions.folder / "runs/sent/checkpoints").exists()


def test_files_with_relative_paths_and_the_code_revision_were_sent(submissions):
    events, _ = scan(submissions.folder / "runs/sent/ledger.jsonl")
    search = events[0]
    words = hashlib.sha256(hashlib.sha256(b"the\nof\n").digest()).hexdigest()
    assert search["checksums"] == {"inputs.stop_words.en": words}
    assert not Path(search["folder"]).is_relative_to(submissions.folder)
    assert search["revision"] in submissions.revisions
    assert (submissions.home / "seedwise/runs/sent/leaderboard.json").is_file()


def test_mlflow_on_postgresql_has_every_run_of_it(submissions):
    import psycopg

    runs = runs_of(submissions.mlflow, "sent")
    events, _ = scan(submissions.folder / "runs/sent/ledger.jsonl")
    scores = {
        ("run", event["config_id"], str(event["replicate"])): event["metrics"]["value"]
        for event in events
        if event["event"] == "result"
    }
    assert {key: run.data.metrics["score"] for key, run in runs.items() if key[0] == "run"} == pytest.approx(scores)
    assert sorted(key[0] for key in runs) == ["configuration"] * 5 + ["run"] * 10 + ["search"]
    assert all(run.info.status == "FINISHED" for run in runs.values())
    with psycopg.connect(submissions.database.replace("+psycopg", "")) as database:
        assert database.execute("select count(*) from runs").fetchone() == (16,)


@pytest.mark.parametrize(
    ("job", "more", "said"),
    [
        ("sent-0", {}, "seedwise: sent-0: this cluster has no such job"),
        ("sent-0", {"RAY_AUTH_TOKEN": "0" * 32}, "this cluster needs another token. Set RAY_AUTH_MODE=token"),
    ],
)
def test_a_refusal_of_the_cluster_is_one_line(submissions, job, more, said):
    process = submissions.start("job", "fetch", job, "--address", submissions.head.address, **more)
    output, _ = process.communicate(timeout=TEST_TIMEOUT)
    assert process.returncode == 2
    assert said in output
    assert output.count("\n") == 1
