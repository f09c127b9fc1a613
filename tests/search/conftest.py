"""Fixtures of everything that starts Ray or writes to MLflow."""

import contextlib
import shutil

import pytest

from search.loopback import loopback
from tests.conftest import ROOT


@contextlib.contextmanager
def _running(**options):
    """Ray in this process; its workers can import the tests."""
    import ray

    with pytest.MonkeyPatch.context() as patch, loopback():
        patch.setenv("PYTHONPATH", str(ROOT))
        ray.init("local", include_dashboard=False, log_to_driver=False, logging_level="ERROR", **options)
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def ray_here():
    """One Ray for all searches of a file that are run in the tests' own process; each has workers of its own."""
    with _running():
        yield


@pytest.fixture(scope="module")
def one_slot():
    """As `ray_here` for one run at a time: a second worker costs more to start than it does in a small search."""
    with _running(num_cpus=1):
        yield


@pytest.fixture(scope="module")
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
