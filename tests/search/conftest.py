"""Fixtures of everything that starts Ray or writes to MLflow."""

import shutil
import sys

import pytest

from search.loopback import loopback
from tests.conftest import ROOT
from tests.loop import use_fake_loop
from tests.warm import forked_workers


@pytest.fixture(scope="session")
def _ray_until_the_end():
    """Whichever test started Ray, it ends with the test process."""
    yield
    if "ray" in sys.modules:
        sys.modules["ray"].shutdown()


@pytest.fixture(scope="module")
def ray_here(_ray_until_the_end):
    """Ray in this process, for all searches that tests run in it: started once, and again where a test ended it.

    Each search has workers of its own, forked from a warm process; they can import the tests.
    """
    import ray

    if not ray.is_initialized():
        with pytest.MonkeyPatch.context() as patch, loopback(), forked_workers():
            patch.setenv("PYTHONPATH", str(ROOT))
            ray.init("local", include_dashboard=False, log_to_driver=False, logging_level="ERROR")


@pytest.fixture
def fake_loop(ray_here, monkeypatch):
    """Searches of this test go through tests/loop.py instead of Tune."""
    use_fake_loop(monkeypatch)


@pytest.fixture(scope="session")
def database(tmp_path_factory):
    """New sqlite stores, as copies of one: creating the tables takes seconds."""
    from mlflow import MlflowClient

    template = tmp_path_factory.mktemp("template") / "mlflow.db"
    MlflowClient(f"sqlite:///{template}").search_experiments()

    def new() -> str:
        folder = tmp_path_factory.mktemp("store")
        shutil.copy(template, folder / "mlflow.db")
        return f"sqlite:///{folder}/mlflow.db"

    return new
