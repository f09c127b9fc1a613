import pytest


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    """A cache of its own for every test."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("SEEDWISE_CACHE", str(folder))
    return folder
