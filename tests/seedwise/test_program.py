"""Printed commands can be run in a shell from the current folder."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import seedwise
from seedwise import program
from tests.conftest import ROOT

PRINT = "from seedwise.program import called; print(called('report', 'a folder'))"


def printed(folder, **more):
    """The command that a process in `folder` prints."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **more}
    done = subprocess.run(
        [sys.executable, "-c", PRINT], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.parametrize("on_path", [False, True])
def test_printed_commands_can_be_typed_in_the_current_folder(tmp_path, on_path):
    bin_folder = str(Path(sys.executable).parent)
    others = [folder for folder in os.environ["PATH"].split(os.pathsep) if folder != bin_folder]
    path = os.pathsep.join([bin_folder, *others] if on_path else others)
    command = printed(tmp_path, PATH=path)
    typed = subprocess.run(
        command, shell=True, cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True
    )
    assert (
        typed.stderr == "seedwise: a folder: there is no search here. Name the folder that has its ledger.jsonl.\n"
    ), command
    assert typed.returncode == 2


def installed(folder, name):
    """An executable in the bin folder of an environment below `folder`."""
    path = folder / ".venv" / "bin" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_the_shortest_way_that_works_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    python, script = installed(tmp_path, "python"), installed(tmp_path, "seedwise")
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setenv("PATH", str(script.parent))
    assert program.called("ui", "runs/x") == "seedwise ui runs/x"
    monkeypatch.setenv("PATH", "/nowhere")
    assert program.called("ui", "runs/x") == ".venv/bin/seedwise ui runs/x"
    monkeypatch.chdir(tmp_path.parent)
    assert program.called("ui") == f"{tmp_path.name}/.venv/bin/seedwise ui"
    monkeypatch.chdir(ROOT)
    assert program.called("ui") == f"{script} ui"


def test_a_program_of_that_name_that_is_another_one_is_not_meant(tmp_path, monkeypatch):
    other = installed(tmp_path / "other", "seedwise")
    script = installed(tmp_path, "seedwise")
    monkeypatch.setattr(sys, "executable", str(script.with_name("python")))
    monkeypatch.setenv("PATH", str(other.parent))
    monkeypatch.chdir(ROOT)
    assert program.called("ui") == f"{script} ui"
    monkeypatch.setattr(sys, "argv", [str(other), "search"])  # a user installation, apart from the Python that runs it
    assert program.called("ui") == "seedwise ui"


def test_a_program_that_is_called_in_its_own_folder_is_named_with_it(tmp_path, monkeypatch):
    monkeypatch.chdir(installed(tmp_path, "seedwise").parent)
    monkeypatch.setattr(sys, "argv", ["./seedwise", "search"])
    monkeypatch.setenv("PATH", "/nowhere")
    assert program.called("ui") == "./seedwise ui"


def test_a_checkout_that_is_not_installed_is_started_by_its_script_and_a_package_by_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    base = installed(tmp_path / "base", "python")
    python = tmp_path / "env" / "python"  # the Python it was made with does not have its packages
    python.parent.mkdir()
    python.symlink_to(base)
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setenv("PATH", str(python.parent))
    door = shlex.quote(str(ROOT / "run_search.py"))
    assert program.called("ui") == f"python {door} ui"
    monkeypatch.setenv("PATH", str(base.parent))
    assert program.called("ui") == f"env/python {door} ui"
    monkeypatch.setattr(seedwise, "__file__", str(tmp_path / "site-packages" / "seedwise" / "__init__.py"))
    assert program.called("ui") == "env/python -m seedwise ui"
    monkeypatch.setattr(sys, "executable", "")  # as when Python is embedded in another program
    assert program.called("ui") == "python -m seedwise ui"


def test_a_tool_that_is_installed_with_the_program_is_named_as_it_can_be_typed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(sys, "executable", str(installed(tmp_path, "optuna-dashboard").with_name("python")))
    assert program.tool("optuna-dashboard", "sqlite:///a b.db") == ".venv/bin/optuna-dashboard 'sqlite:///a b.db'"
    monkeypatch.setenv("PATH", str(tmp_path / ".venv" / "bin"))
    assert program.tool("optuna-dashboard") == "optuna-dashboard"


def test_files_that_are_kept_say_seedwise_wherever_it_is(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    assert program.command("run", "my runs/best.yaml") == "seedwise run 'my runs/best.yaml'"
