"""A search as a job: what goes along, how it is followed, left alone, stopped and gone on with, and what comes back.

The cluster, the MLflow server and its PostgreSQL database are real, and are started and ended here.
"""

import base64
import contextlib
import hashlib
import io
import os
import re
import signal
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import run_search
from search import fetch, parcel, provenance, send, submit, yaml12
from search.errors import RequestError
from search.ledger import scan
from search.serve import free_port
from search.specification import read
from tests.conftest import ROOT
from tests.search.story import PATIENCE, runs_of, server
from tests.search.test_search import board, command, results
from tests.servers import Head, Relay, postgres

# Whose module is nowhere but in the folder that it is submitted from. Configurations wait for a file of their tenth.
METHOD = """
import threading
from pathlib import Path
import numpy as np
from trainables.base import Method

class Mine(Method):
    epochs = 2

    def epoch(self, number):
        while not Path(self.params["gates"], str(int(10 * self.params["x"]))).exists():
            threading.Event().wait(0.1)
        noise = np.random.default_rng(self.streams.seed("order", number)).normal(0, 0.02)
        return {"value": float(1 - (self.params["x"] - 0.3) ** 2 + noise)}

def space(trial):
    return {"x": trial.suggest_float("x", 0.0, 1.0)}

space.defaults = {"x": 0.5, "gates": "", "link": ""}
"""
SPECIFICATION = {
    "name": "sent",
    "method": {"trainable": "mine:Mine", "space": "mine:space"},
    "inputs": {"stop_words": {"en": "data/words.txt"}},
    "sampler": "random",  # draws x = 0.16, 0.49, 0.06, 0.72, ...
    "budget": {"runs": 10},
    "replicates": {"policy": "fixed", "n": 2, "confirm": {"top": 0}},
    "select": {"on": "metric", "metric": "value"},
    "checkpoints": {"grace": 0},
}


@dataclass
class Told:
    """What happened to a search that was submitted twice, with what each command said and its exit code."""

    folder: Path
    home: Path  # of the head
    head: Head
    mlflow: str
    database: str
    said: dict[str, tuple[int, str]] = field(default_factory=dict)
    ledgers: dict[str, bytes] = field(default_factory=dict)  # here, after each time that it was fetched

    def start(self, *arguments, **environment) -> subprocess.Popen:
        return subprocess.Popen(
            command(*arguments),
            cwd=self.folder,
            env={**os.environ, **self.head.access, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )

    def read_until(self, process: subprocess.Popen, beginning: str) -> str:
        """What it says up to the line that begins so."""
        lines = []
        while not (lines and lines[-1].startswith(beginning)):
            lines.append(process.stdout.readline())
            assert lines[-1], "".join(lines)
        return "".join(lines)

    def tell(self, name: str, process: subprocess.Popen, before: str = "") -> None:
        output, _ = process.communicate(timeout=2 * PATIENCE)
        self.said[name] = process.returncode, before + output
        if (ledger := self.folder / "runs/sent/ledger.jsonl").exists():
            self.ledgers[name] = ledger.read_bytes()


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    folder, home, files = (tmp_path_factory.mktemp(name) for name in ("folder", "the home", "artifacts"))
    (folder / "mine.py").write_text(METHOD)
    for name in ("data", "gates"):
        (folder / name).mkdir()
    (folder / "data" / "words.txt").write_text("the\nof\n")
    gates, port = folder / "gates", free_port()
    space = {"gates": str(gates)}
    with Head(home) as head, postgres() as database, server(database, files, port):
        told = Told(folder, home, head, f"http://127.0.0.1:{port}", database)
        tracking = {"uri": told.mlflow}
        (folder / "spec.yaml").write_text(yaml12.dump({**SPECIFICATION, "space": space, "tracking": tracking}))
        here = told.start("search", "spec.yaml", "--set", "tracking.uri=off", "--out", "runs/here")
        head.wait()
        with contextlib.closing(Relay(int(head.address.rpartition(":")[2]))) as relay:
            first = told.start("submit", "spec.yaml", "--address", f"http://127.0.0.1:{relay.port}")
            let_pass(gates, 1)
            lines = told.read_until(first, "2/10 ")
            relay.cut()
            let_pass(gates, 4, 0)
            lines += told.read_until(first, "6/10 ")
            first.send_signal(signal.SIGINT)
            told.tell("left", first, lines)
        job = re.search(r"submitted (\S+);", lines)[1]
        of_job = (job, "--address", head.address)
        for name in ("status", "fetch", "stop", "follow"):
            told.tell(name, told.start("job", name, *of_job))
        let_pass(gates, *range(10))
        told.tell("again", told.start("submit", "spec.yaml", "--address", head.address))
        told.tell("here", here)
        yield told


def let_pass(gates: Path, *tenths: int) -> None:
    for tenth in tenths:
        (gates / str(tenth)).touch()


def test_leaving_a_job_leaves_it_running_and_says_how_to_come_back(told):
    code, output = told.said["left"]
    assert code == 130
    for kind in ("follow", "stop", "fetch"):
        assert re.search(rf"python run_search.py job {kind} sent-\w+ --address http://127.0.0.1:\d+\n", output)
    assert "Traceback" not in output
    code, output = told.said["status"]
    assert code == 0
    assert re.match(r"sent-\w+: RUNNING, .*, in ~/seedwise/runs/sent\n6/10 ", output)


def test_a_connection_that_drops_is_made_anew_and_no_line_is_lost_or_repeated(told):
    _, output = told.said["left"]
    assert re.findall(r"^(\d+)/10 ", output, re.MULTILINE) == ["1", "2", "3", "4", "5", "6"]


def test_a_running_search_can_be_fetched_and_what_comes_later_is_added(told):
    events = [told.ledgers[name] for name in ("fetch", "follow", "again")]
    assert [ledger.count(b'"event": "result"') for ledger in events] == [6, 6, 10]
    assert events[2].startswith(events[1])
    assert events[1].startswith(events[0])


def test_a_stopped_job_ends_as_interrupted_and_its_results_are_fetched(told):
    code, output = told.said["stop"]
    assert (code, "stopped." in output) == (0, True)
    code, output = told.said["follow"]
    assert code == 130
    assert "seedwise: interrupted." in output
    assert "MLflow was not reached" not in output


def test_submitting_the_same_specification_goes_on_and_repeats_nothing(told):
    code, output = told.said["again"]
    assert code == 0, output
    assert "10/10" in output
    assert "6/10" not in output
    found = results(told.folder / "runs/sent")
    assert len(found) == len(set(found)) == 10


def test_the_leaderboard_is_that_of_the_same_search_without_a_cluster(told):
    assert told.said["here"][0] == 0, told.said["here"][1]
    assert board(told.folder / "runs/sent") == board(told.folder / "runs/here")
    assert not (told.folder / "runs/sent/checkpoints").exists()


def test_files_with_relative_paths_have_gone_along_and_the_revision_of_the_code_too(told):
    events, _ = scan(told.folder / "runs/sent/ledger.jsonl")
    search = events[0]
    words = hashlib.sha256(hashlib.sha256(b"the\nof\n").digest()).hexdigest()
    assert search["checksums"] == {"inputs.stop_words.en": words}
    assert not Path(search["folder"]).is_relative_to(told.folder)
    assert search["revision"] == provenance.revision()
    assert (told.home / "seedwise/runs/sent/leaderboard.json").is_file()


def test_mlflow_on_postgresql_has_every_run_of_it(told):
    import psycopg

    runs = runs_of(told.mlflow, "sent")
    events, _ = scan(told.folder / "runs/sent/ledger.jsonl")
    scores = {
        ("run", event["config_id"], str(event["replicate"])): event["metrics"]["value"]
        for event in events
        if event["event"] == "result"
    }
    assert {key: run.data.metrics["score"] for key, run in runs.items() if key[0] == "run"} == pytest.approx(scores)
    assert sorted(key[0] for key in runs) == ["configuration"] * 5 + ["run"] * 10 + ["search"]
    assert all(run.info.status == "FINISHED" for run in runs.values())
    with psycopg.connect(told.database.replace("+psycopg", "")) as database:
        assert database.execute("select count(*) from runs").fetchone() == (16,)


@pytest.mark.parametrize(
    ("job", "more", "said"),
    [
        ("sent-0", {}, "seedwise: sent-0: this cluster has no such job"),
        ("sent-0", {"RAY_AUTH_TOKEN": "0" * 32}, "this cluster wants another token. Set RAY_AUTH_MODE=token"),
    ],
)
def test_what_the_cluster_refuses_is_one_line(told, job, more, said):
    process = told.start("job", "fetch", job, "--address", told.head.address, **more)
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert said in output
    assert output.count("\n") == 1


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a specification, from which it is submitted to nobody."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "words.txt").write_text("the\n")
    (tmp_path / "mine.py").write_text(METHOD)
    (tmp_path / "spec.yaml").write_text(yaml12.dump(SPECIFICATION))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    yield tmp_path
    sys.modules.pop("mine", None)


ADDRESS = ["--address", "http://127.0.0.1:1"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--address", "ray://head:10001"], "jobs go to the dashboard of the head. Write http://HEAD:8265."),
        (ADDRESS, "--address http://127.0.0.1:1: no answer."),
        (["--address", "http://me:secret@127.0.0.1:1"], "--address http://***@127.0.0.1:1: no answer."),
        ([*ADDRESS, "--there", "runs/x"], "--there: runs/x would end with the job."),
        ([*ADDRESS, "--there", "s3://x"], "--there: s3://x would end with the job."),
        ([*ADDRESS, "--set", "checkpoints.at=states"], "checkpoints.at: states would end with the job."),
        ([*ADDRESS, "--out", "data"], "data: holds something else."),
        ([*ADDRESS, "--set", "sampler=bad"], "sampler: 'bad' is wrong"),
        ([*ADDRESS, "--set", "tracking.uri=http://me:secret@host"], "tracking.uri: it has a password"),
        ([*ADDRESS, "--set", "space.link=https://me:secret@host/x"], "space.link: it has a password"),
        ([*ADDRESS, "--set", "inputs.synonyms=../words.txt"], "inputs.synonyms: ../words.txt is outside"),
    ],
)
def test_a_wrong_submission_is_one_line_without_secrets(folder, capsys, options, said):
    (folder.parent / "words.txt").touch()
    assert run_search.main(["submit", "spec.yaml", *options]) == 2
    output = capsys.readouterr()
    assert said in output.err
    assert output.err.count("\n") == 1
    assert "secret" not in output.err + output.out


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        ("SUCCEEDED", 0, 0),
        ("FAILED", 1, 1),
        ("FAILED", 2, 2),
        ("FAILED", 130, 130),
        ("FAILED", -9, 1),
        ("FAILED", None, 1),
        ("STOPPED", None, 130),
    ],
)
def test_the_exit_code_is_that_of_the_search(status, code, expected):
    from ray.job_submission import JobDetails, JobStatus, JobType

    info = JobDetails(type=JobType.SUBMISSION, status=JobStatus(status), entrypoint="", driver_exit_code=code)
    assert submit.exit_code(info) == expected


def test_too_large_a_package_is_refused_with_its_size_and_the_way_out(folder, capsys, monkeypatch):
    from ray._private import ray_constants

    assert parcel.LIMIT < ray_constants.DASHBOARD_CLIENT_MAX_SIZE
    monkeypatch.setattr(parcel, "LIMIT", 3 << 20)
    (folder / "data" / "words.txt").write_bytes(os.urandom(5 << 20))
    assert run_search.main(["submit", "spec.yaml", *ADDRESS]) == 2
    assert re.search(r"have \d+ MiB, data/words.txt alone 5; a job takes 3, packed\.", capsys.readouterr().err)


def test_without_ray_default_it_says_what_to_install(folder, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    assert run_search.main(["submit", "spec.yaml", *ADDRESS]) == 2
    assert "pip install 'ray[default]'" in capsys.readouterr().err


def test_relative_paths_go_along_and_absolute_ones_do_not(folder):
    for name in ("near.vec", "far.vec", "text/de.txt", "text/en.txt", "encoder/config.json", "sets/en/train.tsv"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("text\tcategory\na\tb\n")
    task = {"name": "sib200", "data": "sets", "source": "en", "targets": ["de"]}
    inputs = {"vectors": {"de": "./near.vec", "fr": str(folder / "far.vec")}, "text": "text/{language}.txt"}
    resolved = read("spec.yaml").as_dict() | {"task": task, "model": "encoder"}
    resolved["inputs"] |= {**inputs, "synonyms": "world:synonyms.json", "multilingual": "owner/on-the-hub"}
    found = parcel.contents(resolved)
    sent = {"near.vec", "text/de.txt", "text/en.txt", "encoder/config.json", "sets/en/train.tsv", "data/words.txt"}
    ours = {path.name for path in folder.iterdir()}
    assert {name for name in found if name.partition("/")[0] in ours} == sent | {"mine.py"}
    assert found["run_search.py"] == ROOT / "run_search.py"


def test_a_package_has_all_code_and_its_data_and_is_the_same_for_the_same_content(folder, tmp_path):
    resolved = read("spec.yaml").as_dict()
    packages = [tmp_path / "one.zip", tmp_path / "two.zip"]
    for package in packages:
        parcel.write(resolved, package)
        os.utime("mine.py", (1, 2**31))
    assert packages[0].read_bytes() == packages[1].read_bytes()
    names = set(zipfile.ZipFile(packages[0]).namelist())
    listed = subprocess.run(
        ["git", "ls-files", "run_search.py", "search", "spaces", "trainables"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(listed.stdout.split()) <= names
    assert not [name for name in names if "__pycache__" in name]
    with zipfile.ZipFile(packages[0]) as package:
        assert read_again(package.read("search.yaml").decode()) == resolved


def read_again(text: str) -> dict:
    from search.specification import from_text

    return from_text(text).as_dict()


def test_what_is_wrong_with_an_absolute_path_is_left_to_the_cluster(folder):
    task = "task={name: sib200, data: /far/sets, source: en, targets: [de]}"
    with pytest.raises(RequestError, match="/far/sets: there is no such folder"):
        read("spec.yaml", [task])
    assert read("spec.yaml", [task], elsewhere=True).task.data == "/far/sets"
    pattern = "task={name: text, data: '/far/{language}/{split}.csv', source: en, targets: [de]}"
    assert read("spec.yaml", [pattern], elsewhere=True).task.source == "en"
    with pytest.raises(RequestError, match="near/sets"):
        read("spec.yaml", [task.replace("/far", "./near")], elsewhere=True)


@pytest.mark.parametrize("name", ["~/a b/$HOME", "/tmp/`touch x`", "~/x; touch y", "/it's"])
def test_a_folder_is_one_word_of_the_shell_whatever_is_in_its_name(tmp_path, name):
    said = subprocess.run(
        f"printf %s {fetch.in_shell(name)}",
        shell=True,
        cwd=tmp_path,
        env={"HOME": "/the home"},
        capture_output=True,
        text=True,
    )
    assert said.stdout == name.replace("~", "/the home")
    assert not [*tmp_path.iterdir()]


def pack(folder: Path) -> bytes:
    """What the head would send of a folder, run as it is run there."""
    code = [sys.executable, "-I", "-c", Path(send.__file__).read_text(), str(folder)]
    sent = subprocess.run(code, capture_output=True, text=True, check=True).stdout
    found = fetch.LINE.search(f"Running entrypoint for job: {code}\n{sent}")
    archive = base64.b64decode(found[2])
    assert hashlib.sha256(archive).hexdigest() == found[1]
    return archive


@pytest.fixture
def there(tmp_path):
    """A search folder on a head."""
    folder = tmp_path / "there"
    (folder / "checkpoints" / "x").mkdir(parents=True)
    (folder / "checkpoints" / "x" / "weights").write_text("large")
    (folder / "pictures").mkdir()
    (folder / "pictures" / "a.json").write_text("{}")
    (folder / "ledger.jsonl").write_text('{"event": "search"}\n{"event": "ask"}\n')
    return folder


def files_of(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_arrives_without_checkpoints(there, tmp_path):
    fetch.unpack(pack(there), tmp_path / "runs" / "here")
    assert files_of(tmp_path / "runs" / "here") == {"ledger.jsonl", "pictures/a.json"}
    assert files_of(tmp_path / "runs") == {"here/ledger.jsonl", "here/pictures/a.json"}


def test_an_earlier_state_of_the_same_search_is_replaced_and_own_files_stay(there, tmp_path):
    here = tmp_path / "here"
    here.mkdir()
    (here / "ledger.jsonl").write_text('{"event": "search"}\n{"event": "a')  # the line was being written
    (here / "notes.txt").write_text("mine")
    fetch.unpack(pack(there), here)
    assert (here / "ledger.jsonl").read_bytes() == (there / "ledger.jsonl").read_bytes()
    assert (here / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("ledger", ["", '{"event": "other"}\n', '{"event": "search"}\n{"event": "ask"}\n{}\n'])
def test_another_search_or_one_that_went_on_here_is_not_touched(there, tmp_path, ledger):
    here = tmp_path / "here"
    here.mkdir()
    (here / "ledger.jsonl").write_text(ledger)
    with pytest.raises(RequestError, match="holds something else, or this search went on by itself here"):
        fetch.unpack(pack(there), here)
    assert (here / "ledger.jsonl").read_text() == ledger
    assert files_of(here) == {"ledger.jsonl"}


@pytest.mark.parametrize("name", ["../evil", "/evil", "link"])
def test_an_archive_cannot_write_outside_of_its_folder(tmp_path, name):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        entry = tarfile.TarInfo(name)
        if name == "link":
            entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(entry)
    if name == "/evil":  # which is taken as a name below the folder
        fetch.unpack(packed.getvalue(), tmp_path / "runs" / "here")
        assert files_of(tmp_path) == {"runs/here/evil"}
        return
    with pytest.raises(RequestError, match="what came is no search folder"):
        fetch.unpack(packed.getvalue(), tmp_path / "runs" / "here")
    assert not files_of(tmp_path)
