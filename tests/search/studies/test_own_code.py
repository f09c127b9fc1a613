"""Searches of a user's own method, in a file beside the specification; and what a search leaves behind."""

import contextlib
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import optuna
import pytest
from rich.console import Console
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from seedwise import load_search, yaml12
from seedwise.search.ledger.file import read
from seedwise.search.studies.launch import resume
from seedwise.trainables.streams import Streams
from tests.conftest import ROOT
from tests.search.story import TEST_TIMEOUT
from tests.search.studies.test_search import board, command, results, run, typed, without_tracking, write

METHOD = """
import {neighbour}
from seedwise.trainables.method import Method


class Mine(Method):
    def epoch(self, number):
        import {late}
        return {{"value": {neighbour}.better({late}.VALUE, self.params["x"])}}


def space(trial):
    return {{"x": trial.suggest_float("x", 0.0, 1.0)}}
"""


def write_method(folder, module, *, neighbour="sw_near", late="sw_late", **changes):
    """A specification whose method is in a file of its folder, which imports another at once and a third in a run."""
    (folder / f"{module}.py").write_text(METHOD.format(neighbour=neighbour, late=late))
    (folder / f"{neighbour}.py").write_text("def better(value, x):\n    return value - (x - 0.5) ** 2\n")
    (folder / f"{late}.py").write_text("VALUE = 1.0\n")
    write(folder, method={"trainable": f"{module}:Mine", "space": f"{module}:space"}, space="default", **changes)


@pytest.fixture
def forgotten():
    """Modules of this test are removed afterwards."""
    yield
    for name in [name for name in sys.modules if name.startswith("sw_")]:
        del sys.modules[name]


def test_a_folder_with_all_our_old_names_can_be_searched(tmp_path):
    """Ray puts the driver's folder first on the path of its workers, before this package."""
    (tmp_path / "datasets.py").write_text("raise SystemExit('and so is this')\n")  # of a library, which has priority
    (tmp_path / "spaces").mkdir()
    (tmp_path / "spaces" / "__init__.py").write_text("")
    (tmp_path / "run_search.py").write_text("raise SystemExit('this is mine')\n")
    write_method(tmp_path, "trainables", neighbour="search", late="later", budget={"runs": 6})
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        command("search", "spec.yaml"),
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=TEST_TIMEOUT,
    )
    assert "6 runs: the budget of 6 runs is spent" in done.stdout, done.stderr
    rows = board(tmp_path / "runs" / "quadratic")
    for row in rows:
        assert row["mean"] == pytest.approx(1 - (row["params"]["x"] - 0.5) ** 2, abs=1e-12)


def test_the_guides_method_of_version_08_runs_with_its_import_line_changed(tmp_path, fake_loop, monkeypatch):
    """Its names: `epochs`, `epoch(number)` and `prepare(specification)`."""
    guide = (ROOT / "tests" / "data" / "0.8.0" / "extending.md").read_text()
    code, specification = re.findall(r"```(?:python|yaml)\n(.*?)```", guide, re.S)[:2]
    old, new = "from trainables.base import", "from seedwise.trainables.method import"
    assert code.count(old) == 1
    (tmp_path / "prototypes.py").write_text(code.replace(old, new))
    (tmp_path / "prototypes.yaml").write_text(specification)
    run(tmp_path, "search", "prototypes.yaml", "--set", "tracking.uri=off")
    monkeypatch.delitem(sys.modules, "prototypes")
    state = read(tmp_path / "runs" / "prototypes" / "ledger.jsonl")
    assert {(result.status, result.step) for result in state.runs()} == {("done", 3)}
    rows = board(tmp_path / "runs" / "prototypes")
    assert [row["replicates"] for row in rows] == [3, 3, 3, 3]
    # The same arithmetic by hand, for the best configuration at its first seed.
    best = rows[0]
    images, digits = load_digits(return_X_y=True)
    train, test, of_train, of_test = train_test_split(images / 16, digits, test_size=0.3, random_state=0)
    streams, (rate, spread) = Streams(0, 0), (best["params"]["rate"], best["params"]["spread"])
    prototypes = np.random.default_rng(streams.seed("head")).normal(0.5, spread, size=(10, 64))
    for number in range(3):
        for row in np.random.default_rng(streams.seed("order", number)).permutation(len(train)):
            prototypes[of_train[row]] += rate * (train[row] - prototypes[of_train[row]])
    hits = [np.linalg.norm(prototypes - image, axis=1).argmin() for image in test] == of_test
    assert state.configurations[best["config_id"]].runs[0].metrics == {"accuracy": pytest.approx(hits.mean())}


@pytest.mark.usefixtures("ray_here", "forgotten")
def test_a_search_that_cannot_import_its_method_stops_at_the_first_run(tmp_path):
    """The driver finds the file, the workers do not: as on a cluster whose nodes lack a package."""
    write_method(tmp_path, "sw_mine", budget={"runs": 6})
    output = run(tmp_path, "search", "spec.yaml", code=1)
    folder = tmp_path / "runs" / "quadratic"
    assert (
        "seedwise: no run can start: ModuleNotFoundError: No module named 'sw_mine'. Install what is missing" in output
    )
    assert f"Then: {typed(tmp_path, 'resume', 'runs/quadratic')}\n" in output
    assert "Traceback" not in output
    assert not results(folder)
    assert not (folder / "best.yaml").exists()
    assert "rerun the best" not in output


@pytest.mark.usefixtures("forgotten")
def test_a_search_that_lacks_a_package_in_a_run_and_here_stops_at_the_first_run(tmp_path, fake_loop, monkeypatch):
    write_method(tmp_path, "sw_mine", budget={"runs": 6})
    (tmp_path / "sw_near.py").write_text("def better(value, x):\n    import sw_not_installed\n")
    output = run(tmp_path, "search", "spec.yaml", code=1)
    folder = tmp_path / "runs" / "quadratic"
    assert "a run needs a missing module: ModuleNotFoundError: No module named 'sw_not_installed' (sw_n" in output
    assert not results(folder)
    assert not (folder / "best.yaml").exists()
    (tmp_path / "sw_not_installed.py").write_text("")
    monkeypatch.setattr(sys.modules["sw_near"], "better", lambda value, x: x)
    run(tmp_path, "resume", folder)
    assert {result.status for result in read(folder / "ledger.jsonl").runs()} == {"done"}


@pytest.mark.usefixtures("forgotten")
def test_a_search_whose_runs_lack_a_package_that_is_here_stops_after_three_configurations(tmp_path, fake_loop):
    write_method(tmp_path, "sw_mine", budget={"runs": 12})
    (tmp_path / "sw_near.py").write_text(
        """def better(value, x):\n    raise ModuleNotFoundError("No module named 'json'")\n"""
    )
    output = run(tmp_path, "search", "spec.yaml", code=1)
    state = read(tmp_path / "runs" / "quadratic" / "ledger.jsonl")
    failed = sum(result.finished for result in state.runs())
    assert len(state.configurations) <= 4
    assert 3 <= failed < 12
    assert f"all {failed} runs failed: ModuleNotFoundError: No module named 'json' (sw_near.py:2)" in output
    assert not (tmp_path / "runs" / "quadratic" / "best.yaml").exists()


@pytest.mark.extended
@pytest.mark.usefixtures("forgotten")
def test_a_search_whose_workers_end_before_their_first_step_stops_at_the_first_run(tmp_path):
    write_method(tmp_path, "sw_mine", budget={"runs": 6})
    (tmp_path / "sw_near.py").write_text(
        "import os, sys\nif sys.argv[0].endswith('default_worker.py'):\n    os._exit(3)\n\n\n"
        "def better(value, x):\n    return x\n"
    )
    output = run(tmp_path, "search", "spec.yaml", code=1, apart=True)
    assert "no run can start: its process ended before the first step." in output
    assert len({result.config_id for result in read(tmp_path / "runs" / "quadratic" / "ledger.jsonl").runs()}) <= 2


@pytest.mark.usefixtures("forgotten")
def test_a_package_that_only_some_configurations_need_costs_these_alone(tmp_path, fake_loop):
    write_method(tmp_path, "sw_mine", budget={"runs": 6}, enqueue=[{"x": 0.1}])
    (tmp_path / "sw_near.py").write_text(
        "def better(value, x):\n    if x > 0.3:\n        import sw_not_installed\n    return x\n"
    )
    run(tmp_path, "search", "spec.yaml")
    state = read(tmp_path / "runs" / "quadratic" / "ledger.jsonl")
    for configuration in state.configurations.values():
        statuses = {result.status for result in configuration.runs.values()}
        assert statuses == ({"failed:error"} if configuration.params["x"] > 0.3 else {"done"})
    assert any("No module named 'sw_not_installed'" in result.error for result in state.runs())


@pytest.mark.usefixtures("forgotten")
def test_without_a_successful_run_there_is_no_best(tmp_path, fake_loop):
    write_method(tmp_path, "sw_mine", budget={"runs": 6})
    (tmp_path / "sw_near.py").write_text("def better(value, x):\n    return float('nan')\n")
    output = run(tmp_path, "search", "spec.yaml", code=1)
    folder = tmp_path / "runs" / "quadratic"
    assert {result.status for result in read(folder / "ledger.jsonl").runs()} == {"failed:nan"}
    assert not (folder / "best.yaml").exists()
    assert "best.yaml" not in output
    assert "rerun" not in output
    assert (folder / "report.html").exists()
    output = run(tmp_path, "export", folder, code=2)
    assert f"seedwise: {folder}: every run has failed so far, so there is no best configuration." in output


@pytest.mark.extended
@pytest.mark.usefixtures("forgotten")
def test_a_search_that_goes_on_from_another_folder_finds_the_files_of_its_own(tmp_path, fake_loop):
    """Workers too: a user's method opens them by relative paths."""
    write_method(tmp_path, "sw_mine", budget={"runs": 6})
    (tmp_path / "value.txt").write_text("7.5")
    (tmp_path / "sw_near.py").write_text("def better(value, x):\n    return float(open('value.txt').read())\n")
    run(tmp_path, "search", "spec.yaml")
    folder = tmp_path / "runs" / "quadratic"
    lines = (folder / "ledger.jsonl").read_text().splitlines(keepends=True)
    (folder / "ledger.jsonl").write_text(
        "".join(lines[: [number for number, line in enumerate(lines) if '"result"' in line][1]])
    )
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    output = run(elsewhere, "resume", folder, apart=True)
    assert "failed" not in output
    assert [row["mean"] for row in board(folder)] == [7.5, 7.5]


LATE = """
from seedwise.paths import resolved
from seedwise.trainables.method import Method


class Mine(Method):
    @classmethod
    def prepare(cls, request, asked):
        import sw_near
        return sw_near.read(resolved("value.txt"))

    @classmethod
    def streams_used(cls, params):
        import sw_near
        return sw_near.STREAMS

    def step(self, number):
        return {"value": self.inputs - self.params["x"]}

    def export(self, request, folder):
        import sw_near
        (folder / "model").mkdir()
        (folder / "model" / "value.txt").write_text(str(self.inputs))
        return [folder / "model"]


def space(trial):
    import sw_near
    return {"x": trial.suggest_float("x", 0.0, sw_near.HIGHEST)}
"""


@pytest.mark.usefixtures("forgotten")
def test_users_functions_import_their_neighbours_and_read_relative_paths_from_any_folder(tmp_path, fake_loop):
    def command(*arguments, folder=None):
        for name in [name for name in sys.modules if name.startswith("sw_")]:  # as in a process of its own
            del sys.modules[name]
        return run(folder or elsewhere, *arguments)

    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    for folder in (home, elsewhere):
        folder.mkdir()
    policy = {"policy": "race", "min": 1, "confirm": {"top": 1, "fresh": 1}}
    write_method(home, "sw_mine", budget={"runs": 6}, replicates=policy)
    (home / "sw_mine.py").write_text(LATE)
    (home / "sw_near.py").write_text(
        "HIGHEST, STREAMS = 1.0, ('order',)\n\n\ndef read(path):\n    return float(open(path).read())\n"
    )
    (home / "value.txt").write_text("7.5")
    assert "# space: infinite (x continuous)" in command("search", "spec.yaml", "--dry-run", folder=home)
    command("search", "spec.yaml", folder=home)
    folder = home / "runs" / "quadratic"
    best = board(folder)[0]["config_id"]
    for arguments in (["status"], ["report"], ["compare"], ["export", "--to", "best.yaml"]):
        command(arguments[0], folder, *arguments[1:])
    assert yaml12.load((elsewhere / "best.yaml").read_text())["config_id"] == best
    assert "the scores are those of the search" in command("export", folder, "--model", "models")
    assert (elsewhere / "models" / "model" / "value.txt").read_text() == "7.5"
    command("export", folder, "--optuna", "study.db")
    command("run", without_tracking(elsewhere / "best.yaml"), "--decompose", "--replicates", 2, folder=home)
    del sys.modules["sw_mine"], sys.modules["sw_near"]
    assert load_search(folder).best["config_id"] == best
    # A folder of another search, whose modules have the same names.
    other = shutil.copytree(home, tmp_path / "other")
    ledger = other / "runs" / "quadratic" / "ledger.jsonl"
    ledger.write_text(ledger.read_text().replace(str(home), str(other)))
    assert best in command("compare", folder, ledger.parent)
    assert not [name for name in sys.modules if name.startswith("sw_")]


def traces():
    """The state of the process that a library must not change."""
    handlers = [signal.getsignal(kind) for kind in (signal.SIGINT, signal.SIGTERM)]
    return os.getcwd(), list(sys.path), dict(os.environ), handlers, optuna.logging.get_verbosity()


@pytest.mark.extended
@pytest.mark.usefixtures("ray_here", "forgotten")
def test_a_search_that_could_not_import_its_method_goes_on_when_it_can(tmp_path):
    write_method(tmp_path, "sw_mine", budget={"runs": 6})
    run(tmp_path, "search", "spec.yaml", code=1)
    folder = tmp_path / "runs" / "quadratic"
    output = run(tmp_path, "resume", folder, apart=True)  # a Ray of its own, whose workers have the folder
    assert "rerun the best" in output
    assert len(set(results(folder))) == len(results(folder)) == 6


@pytest.mark.usefixtures("forgotten")
@pytest.mark.parametrize("in_thread", [False, True])
def test_a_search_that_goes_on_from_another_folder_leaves_no_traces(tmp_path, fake_loop, monkeypatch, in_thread):
    write_method(tmp_path, "sw_mine", budget={"runs": 6})
    folder = tmp_path / "runs" / "quadratic"
    run(tmp_path, "search", "spec.yaml")
    lines = (folder / "ledger.jsonl").read_text().splitlines(keepends=True)
    expected = board(folder)
    cut = [index for index, line in enumerate(lines) if '"result"' in line][1]
    (folder / "ledger.jsonl").write_text("".join(lines[:cut]))
    monkeypatch.chdir("/")
    for name in [name for name in sys.modules if name.startswith("sw_")]:  # as in a process of its own
        del sys.modules[name]
    assert "interrupted; continue with" in run(Path("/"), "status", folder)
    optuna.logging.set_verbosity(optuna.logging.INFO)
    before, output, failures = traces(), io.StringIO(), []

    def go_on():
        try:
            resume(folder, Console(file=output))
        except BaseException as error:
            failures.append(error)

    with contextlib.redirect_stderr(output):  # Optuna writes there
        if in_thread:
            thread = threading.Thread(target=go_on)
            thread.start()
            thread.join()
        else:
            go_on()
    assert not failures
    assert traces() == before
    assert "A new study created" not in output.getvalue()
    assert board(folder) == expected
