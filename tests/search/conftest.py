"""Fixtures for tests that write to MLflow."""

import shutil

import pytest


@pytest.fixture(scope="session")
def database(tmp_path_factory):
    """New sqlite stores, copied from a template: creating the tables takes seconds."""
    from mlflow import MlflowClient

    template = tmp_path_factory.mktemp("template") / "mlflow.db"
    MlflowClient(f"sqlite:///{template}").search_experiments()

    def new() -> str:
        folder = tmp_path_factory.mktemp("store")
        shutil.copy(template, folder / "mlflow.db")
        return f"sqlite:///{folder}/mlflow.db"

    return new
