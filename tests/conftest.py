"""What every test needs: no hub, one thread, and the repository on the path of every process that a test starts."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("OMP_NUM_THREADS", "1")  # tiny tensors: a second thread costs more than it computes
os.environ.setdefault("RAY_worker_niceness", "0")  # or a busy machine lets Ray's workers wait for everybody else

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("SEEDWISE_DATA", ROOT.parent / "shared"))  # real data and encoders, where there are any


def real(*names: str) -> list[Path]:
    """Paths below the folder of real data; the test is skipped, saying so, where one is missing."""
    paths = [DATA / name for name in names]
    for path in paths:
        if not path.exists():
            pytest.skip(f"no real data: {path} (set SEEDWISE_DATA)")
    return paths


class AtOnce:
    """Says which test failed when it fails: the end of a long run may never come."""

    def __init__(self, reporter):
        self.reporter = reporter

    def pytest_runtest_logreport(self, report):
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            why = (crash.message if crash else str(report.longrepr)).strip().splitlines() or [""]
            self.reporter.write_line(f"\nFAILED {report.nodeid} ({report.when}): {why[0][:300]}")


@pytest.hookimpl(trylast=True)  # when there is a reporter
def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(AtOnce(config.pluginmanager.get_plugin("terminalreporter")))


# A busy machine is no failure, and what passes for one person passes for the next.
settings.register_profile("seedwise", deadline=None, derandomize=True)
settings.load_profile("seedwise")
