"""The commit that is recorded with a result."""

import subprocess

import pytest

from seedwise.search.spec import provenance
from tests.conftest import ROOT


def commit(folder):
    who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    for arguments in (["init", "-q"], [*who, "commit", "-q", "--allow-empty", "-m", "theirs"]):
        subprocess.run(["git", *arguments], cwd=folder, check=True)
    git = subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, text=True)
    return git.stdout.strip()


def test_a_package_in_somebodys_repository_has_no_revision(tmp_path, monkeypatch):
    """As in a virtual environment inside another repository, whose commit says nothing about this code."""
    package = tmp_path / ".venv" / "lib" / "site-packages" / "seedwise"
    package.mkdir(parents=True)
    theirs = commit(tmp_path)
    monkeypatch.setattr(provenance, "PACKAGE", package)
    monkeypatch.setattr(provenance, "REVISION", package / "revision.txt")
    assert provenance.revision() == ""
    for name in ("run_search.py", "setup.py"):
        (package.parent / name).write_text("")
    assert theirs not in provenance.revision()


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this is no checkout")
def test_a_checkout_has_its_commit_also_in_a_hook_of_another_repository(tmp_path, monkeypatch):
    commit(tmp_path)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / ".git"))
    git = subprocess.run(
        ["git", "--git-dir", ROOT / ".git", "rev-parse", "HEAD"], check=True, capture_output=True, text=True
    )
    assert provenance.revision().removesuffix("-dirty") == git.stdout.strip()
