"""A search as a job: what is packed, what is refused before submission, and how results are fetched.

tests/search/cluster/test_submit_head.py submits to a real cluster.
"""

import base64
import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from seedwise import yaml12
from seedwise.errors import RequestError
from seedwise.search.cluster import fetch, jobs, pack_on_head, package
from seedwise.search.commands.main import main
from seedwise.search.spec.load import read
from seedwise.search.spec.schema import Specification
from tests.conftest import ROOT

# The module exists only in the submitting folder. Configurations wait for a file named after their first decimal.
METHOD = """
import threading
from pathlib import Path
import numpy as np
from seedwise.trainables.method import Method

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


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a specification that is never really submitted."""
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
        ([*ADDRESS, "--remote-dir", "runs/x"], "--remote-dir: runs/x would be deleted with the job."),
        ([*ADDRESS, "--remote-dir", "s3://x"], "--remote-dir: s3://x would be deleted with the job."),
        ([*ADDRESS, "--set", "checkpoints.path=states"], "checkpoints.path: states would be deleted with the job."),
        ([*ADDRESS, "--out", "data"], "data: holds something else."),
        ([*ADDRESS, "--set", "sampler=bad"], "sampler: 'bad' is wrong"),
        ([*ADDRESS, "--set", "tracking.uri=http://me:secret@host"], "tracking.uri: it has a password"),
        ([*ADDRESS, "--set", "space.link=https://me:secret@host/x"], "space.link: it has a password"),
        ([*ADDRESS, "--set", "inputs.synonyms=../words.txt"], "inputs.synonyms: ../words.txt is outside"),
    ],
)
def test_a_wrong_submission_is_one_line_without_secrets(folder, capsys, options, said):
    (folder.parent / "words.txt").touch()
    assert main(["submit", "spec.yaml", *options]) == 2
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
    assert jobs.exit_code(info) == expected


def test_a_package_that_is_too_large_is_refused_with_its_size_and_a_fix(folder, capsys, monkeypatch):
    from ray._private import ray_constants

    assert package.LIMIT < ray_constants.DASHBOARD_CLIENT_MAX_SIZE
    monkeypatch.setattr(package, "LIMIT", 3 << 20)
    (folder / "data" / "words.txt").write_bytes(os.urandom(5 << 20))
    assert main(["submit", "spec.yaml", *ADDRESS]) == 2
    assert re.search(
        r"have \d+ MiB, data/words.txt alone 5; the limit of a job is 3, compressed\.", capsys.readouterr().err
    )


def test_without_ray_default_the_error_names_what_to_install(folder, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    assert main(["submit", "spec.yaml", *ADDRESS]) == 2
    assert "pip install 'ray[default]'" in capsys.readouterr().err


def test_relative_paths_are_packed_and_absolute_paths_are_not(folder):
    for name in ("near.vec", "far.vec", "text/de.txt", "text/en.txt", "encoder/config.json", "sets/en/train.tsv"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("text\tcategory\na\tb\n")
    task = {"name": "sib200", "data": "sets", "source": "en", "targets": ["de"]}
    inputs = {"vectors": {"de": "./near.vec", "fr": str(folder / "far.vec")}, "text": "text/{language}.txt"}
    resolved = read("spec.yaml").as_dict() | {"task": task, "model": "encoder"}
    resolved["inputs"] |= {**inputs, "synonyms": "world:synonyms.json", "multilingual": "owner/on-the-hub"}
    files = package.contents(Specification.model_validate(resolved))
    sent = {"near.vec", "text/de.txt", "text/en.txt", "encoder/config.json", "sets/en/train.tsv", "data/words.txt"}
    ours = {path.name for path in folder.iterdir()}
    assert {name for name in files if name.partition("/")[0] in ours} == sent | {"mine.py"}
    assert files["seedwise/search/ledger/state.py"].samefile(ROOT / "search" / "ledger" / "state.py")


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="no git checkout, whose files could be listed")
def test_a_package_has_all_code_and_its_data_and_is_deterministic(folder, tmp_path):
    specification = read("spec.yaml")
    packages = [tmp_path / "one.zip", tmp_path / "two.zip"]
    for path in packages:
        package.write(specification, path)
        os.utime("mine.py", (1, 2**31))
    assert packages[0].read_bytes() == packages[1].read_bytes()
    names = set(zipfile.ZipFile(packages[0]).namelist())
    listed = subprocess.run(
        ["git", "ls-files", "search", "spaces", "trainables"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert {f"seedwise/{name}" for name in listed.stdout.split()} | {"seedwise/__main__.py"} <= names
    assert not [name for name in names if "__pycache__" in name]
    with zipfile.ZipFile(packages[0]) as written:
        assert read_again(written.read("search.yaml").decode()) == specification.as_dict()


def read_again(text: str) -> dict:
    from seedwise.search.spec.load import from_dict

    return from_dict(yaml12.load(text)).as_dict()


def test_absolute_paths_are_not_checked_before_submission(folder):
    task = "task={name: sib200, data: /far/sets, source: en, targets: [de]}"
    with pytest.raises(RequestError, match="/far/sets: there is no such folder"):
        read("spec.yaml", [task])
    assert read("spec.yaml", [task], elsewhere=True).task.data == "/far/sets"
    pattern = "task={name: text, data: '/far/{language}/{split}.csv', source: en, targets: [de]}"
    assert read("spec.yaml", [pattern], elsewhere=True).task.source == "en"
    with pytest.raises(RequestError, match=r"^select.metric: 'f1' is not recorded"):  # all other problems are reported
        read(
            "spec.yaml",
            [task, "method=ear", "space=default", "model=/far/model", "select={metric: f1}"],
            elsewhere=True,
        )
    with pytest.raises(RequestError, match="near/sets"):
        read("spec.yaml", [task.replace("/far", "./near")], elsewhere=True)


@pytest.mark.parametrize(
    ("name", "overrides", "keys"),
    [
        ("demo-dcca", ["prune=asha", "inputs.text=/data/{language}.txt"], ["prune"]),
        (
            "demo",
            ["task.data=/data/topics", "inputs.vectors={}", "model=null"],
            ["model", "inputs.vectors.qan", "inputs.vectors.qor"],
        ),
        (
            "demo-ear",
            ["task.data=/far/x", "inputs.synonyms=null", "inputs.vectors={qan: a}"],
            ["inputs.vectors", "inputs.synonyms"],
        ),
    ],
)
def test_everything_else_is_checked_before_submission(name, overrides, keys):
    with pytest.raises(RequestError) as refused:
        read(name, overrides, elsewhere=True)
    assert [problem.key for problem in refused.value.problems] == keys


@pytest.mark.parametrize("name", ["~/a b/$HOME", "/tmp/`touch x`", "~/x; touch y", "/it's"])
def test_a_folder_name_is_quoted_for_the_shell(tmp_path, name):
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
    """The archive that the head sends of a folder, made by the same command."""
    code = [sys.executable, "-I", "-c", Path(pack_on_head.__file__).read_text(), str(folder)]
    sent = subprocess.run(code, capture_output=True, text=True, check=True).stdout
    line = fetch.LINE.search(f"Running entrypoint for job: {code}\n{sent}")
    archive = base64.b64decode(line[2])
    assert hashlib.sha256(archive).hexdigest() == line[1]
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


def test_fetching_replaces_an_earlier_state_of_the_same_search_and_keeps_other_files(there, tmp_path):
    here = tmp_path / "here"
    here.mkdir()
    (here / "ledger.jsonl").write_text('{"event": "search"}\n{"event": "a')  # the line was being written
    (here / "notes.txt").write_text("mine")
    fetch.unpack(pack(there), here)
    assert (here / "ledger.jsonl").read_bytes() == (there / "ledger.jsonl").read_bytes()
    assert (here / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("ledger", ["", '{"event": "other"}\n', '{"event": "search"}\n{"event": "ask"}\n{}\n'])
def test_another_search_or_a_locally_continued_search_is_not_overwritten(there, tmp_path, ledger):
    here = tmp_path / "here"
    here.mkdir()
    (here / "ledger.jsonl").write_text(ledger)
    with pytest.raises(RequestError, match="holds something else, or this search was continued here"):
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
    with pytest.raises(RequestError, match="the archive is not valid"):
        fetch.unpack(packed.getvalue(), tmp_path / "runs" / "here")
    assert not files_of(tmp_path)
