"""Fixtures of everything that writes to MLflow."""

import shutil

import pytest


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
