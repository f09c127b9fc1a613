"""How long tests take. `pytest --record-durations FILE` records; `python -m tests.durations FILE` sums up.

`tests/durations.json` holds the seconds of each test file that takes a second or more: of its tests in `make test`, and
of those that `make test-all` adds. With `--dist=loadfile` a free process takes the next file: the longest files go
first, so that both processes end at nearly the same time.
"""

import contextlib
import json
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Container
from pathlib import Path

import psutil
import pytest

RECORD = Path(__file__).with_suffix(".json")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record-durations", metavar="FILE", help="write wall and CPU seconds per test to FILE as JSON")


def pytest_configure(config: pytest.Config) -> None:
    if target := config.getoption("--record-durations"):
        distributed = config.getoption("numprocesses", None)
        if hasattr(config, "workerinput") or not distributed:
            config.pluginmanager.register(CpuTime())
        if not hasattr(config, "workerinput"):
            config.pluginmanager.register(Recorder(Path(target)))


@pytest.hookimpl(trylast=True)  # after deselection
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order files by their recorded seconds, longest first; tests keep their order within a file."""
    recorded = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    parts = {(file_of(item.nodeid), tier_of(item.keywords)) for item in items}
    seconds: dict[str, float] = defaultdict(float)
    for file, tier in parts:
        seconds[file] += recorded.get(tier, {}).get(file, 0)
    items.sort(key=lambda item: -seconds[file_of(item.nodeid)])


def file_of(nodeid: str) -> str:
    return nodeid.partition("::")[0]


def tier_of(keywords: Container[str]) -> str:
    return "extended" if "extended" in keywords else "test"


class CpuTime:
    """Adds to each report the CPU seconds that this process and its descendants used since the previous report.

    Sampled, since Ray's workers are not waited for: time after the last sample of a process is missed.
    """

    SAMPLE_SECONDS = 0.2

    def __init__(self) -> None:
        self._process, self._last = psutil.Process(), 0.0
        self._seen: dict[tuple[int, float], float] = {}
        self._lock = threading.Lock()
        threading.Thread(target=self._sample, daemon=True).start()

    def _sample(self) -> None:
        while True:
            self._used()
            time.sleep(self.SAMPLE_SECONDS)

    def _used(self) -> float:
        with self._lock:
            for process in [self._process, *self._process.children(recursive=True)]:
                with contextlib.suppress(psutil.Error):
                    times = process.cpu_times()
                    self._seen[process.pid, process.create_time()] = times.user + times.system
            return sum(self._seen.values())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self):
        report = yield
        used = self._used()
        report.user_properties = [*report.user_properties, ("cpu", used - self._last)]
        self._last = used
        return report


class Recorder:
    """Sums the phases of each test and writes them when the session ends."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self._tests: dict[str, dict] = defaultdict(lambda: {"seconds": 0.0, "cpu": 0.0})

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        test = self._tests[report.nodeid]
        test["seconds"] += report.duration
        test["cpu"] += dict(report.user_properties).get("cpu", 0.0)
        test["tier"] = tier_of(report.keywords)

    def pytest_sessionfinish(self) -> None:
        self._target.write_text(json.dumps(self._tests, indent=1))


def main(*records: str) -> None:
    """Print a table of files from records of several runs, and write `tests/durations.json`."""
    rows: dict[tuple[str, str], dict[str, float]] = defaultdict(lambda: {"seconds": 0.0, "cpu": 0.0, "tests": 0})
    for record in records:
        for name, test in json.loads(Path(record).read_text()).items():
            row = rows[test["tier"], file_of(name)]
            row["tests"] += 1
            for key in ("seconds", "cpu"):
                row[key] += test[key]
    print("| in | file | tests | CPU seconds | seconds |", "|---|---|---|---|---|", sep="\n")
    for (tier, file), row in sorted(rows.items(), key=lambda pair: -pair[1]["cpu"]):
        print(f"| {tier} | {file} | {row['tests']} | {row['cpu']:.1f} | {row['seconds']:.1f} |")
    seconds: dict[str, dict[str, int]] = {"test": {}, "extended": {}}
    for (tier, file), row in sorted(rows.items()):
        if row["seconds"] >= 1:
            seconds[tier][file] = round(row["seconds"])
    RECORD.write_text(json.dumps(seconds, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
