"""Setup of every test: no hub, one thread, real data if present, and one Ray per test process."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from seedwise.search.cluster.ray_internals import loopback
from tests.warm import forked_workers

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("OMP_NUM_THREADS", "1")  # tiny tensors: a second thread costs more than it saves
os.environ.setdefault("RAY_worker_niceness", "0")  # or a busy machine lets Ray's workers wait for everybody else

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("SEEDWISE_DATA", ROOT.parent / "shared"))  # real data and encoders, if present


def real(*names: str) -> list[Path]:
    """Paths below the folder of real data; the test is skipped with a message if a path is missing."""
    paths = [DATA / name for name in names]
    for path in paths:
        if not path.exists():
            pytest.skip(f"no real data: {path} (set SEEDWISE_DATA)")
    return paths


class AtOnce:
    """Prints a failed test at once: a long run may never reach its end."""

    def __init__(self, reporter):
        self.reporter = reporter

    def pytest_runtest_logreport(self, report):
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            why = (crash.message if crash else str(report.longrepr)).strip().splitlines() or [""]
            self.reporter.write_line(f"\nFAILED {report.nodeid} ({report.when}): {why[0][:300]}")


@pytest.hookimpl(trylast=True)  # if a reporter is installed
def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(AtOnce(config.pluginmanager.get_plugin("terminalreporter")))


# No deadline, since machines may be busy; fixed examples, so that everybody runs the same tests.
settings.register_profile("seedwise", deadline=None, derandomize=True)
settings.load_profile("seedwise")


@pytest.fixture(scope="session")
def _ray_until_the_end():
    """Ends Ray with the test process, whichever test started it."""
    yield
    if "ray" in sys.modules:
        sys.modules["ray"].shutdown()


@pytest.fixture(scope="module")
def ray_here(_ray_until_the_end):
    """Ray in this process, for all searches of its tests: started once, and again after a test that ended it.

    Each search has its own workers, forked from a warm process, which can import the tests.
    """
    start_ray()


def start_ray() -> None:
    import ray

    if not ray.is_initialized():
        with pytest.MonkeyPatch.context() as patch, loopback(), forked_workers():
            patch.setenv("PYTHONPATH", str(ROOT))
            ray.init("local", include_dashboard=False, log_to_driver=False, logging_level="ERROR")


@pytest.fixture
def fake_loop(ray_here, monkeypatch):
    """Searches of this test go through tests/loop.py instead of Tune."""
    from tests.loop import use_fake_loop

    start_ray()  # the test before may have failed, and ended it
    use_fake_loop(monkeypatch)
