"""A search as a driver would write it, and the real MLflow stores and servers that receive it."""

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from seedwise.search.ledger.file import Ledger
from seedwise.search.tracking import follower

SCORES = {"a": [0.61, 0.64, 0.58], "b": [0.7, None], "c": [0.55]}  # of replicates 0, 1, ...; None fails without a score
FILES = {"search.yaml", "best.yaml", "leaderboard.json", "leaderboard.csv", "report.html"}
TEST_TIMEOUT = 300  # seconds; far more than any step here takes, also on a busy machine


def specification(uri: str, **changes) -> dict:
    return {
        "name": "story",
        "method": "stitching",
        "model": "",
        "task": {"name": "sib200", "data": None, "source": "eng", "targets": ["bel"]},
        "space": {"k": [1, 200], "note": "x" * 7000},
        "budget": {"runs": 6},
        "select": {"metric": "macro_f1", "on": "source_dev", "aggregate": "mean"},
        "tracking": {"uri": uri},
        **changes,
    }


STEP = {"event": "step", "config_id": "a", "replicate": 0}


class Story:
    """A search as a driver would write it, without any run."""

    def __init__(self, append: Callable[[dict], None], uri: str, searched: Sequence[str] = (), **changes):
        self.append, self.uri, self.searched, self.changes, self.sessions = append, uri, searched, changes, 0

    def write(self, event: str, **fields) -> None:
        self.append({"event": event, **fields})

    def session(self, revision: str = "first") -> None:
        spec = specification(self.uri, **self.changes)
        event = {"search_id": "5ea4c4", "name": "story", "session": self.sessions, "command": "run_search.py search"}
        event |= {"searched": {"": self.searched}} if self.searched else {}
        self.sessions += 1
        self.write("search", **event, revision=revision, versions={}, specification=spec)

    def ask(self, config_id: str) -> None:
        self.write(
            "ask", config_id=config_id, params={"k": ord(config_id), "weighting": "softmax"}, ask=0, suggested={}
        )

    def start(self, config_id: str, replicate: int) -> None:
        self.write("start", config_id=config_id, replicate=replicate, phase="search")

    def steps(self, config_id: str, replicate: int, count: int = 2) -> None:
        for step in range(1, count + 1):
            self.write("step", config_id=config_id, replicate=replicate, step=step, metrics=metrics(step / 10))

    def result(self, config_id: str, replicate: int, score: float | None, error: str = "") -> None:
        values = {} if score is None else metrics(score)
        outcome = {"status": "failed:nan" if score is None else "done", "error": error, "seconds": 1.5}
        self.write(
            "result", config_id=config_id, replicate=replicate, phase="search", step=3, metrics=values, **outcome
        )

    def run(self, config_id: str, replicate: int, score: float | None) -> None:
        self.start(config_id, replicate)
        self.steps(config_id, replicate)
        self.result(config_id, replicate, score, error="" if score else "loss is not finite\n" + "y" * 9000)

    def end(self) -> None:
        self.write("end", because="budget")


def story_in(folder: Path, uri: str, **changes) -> Story:
    """A story that writes to a search folder."""
    ledger = Ledger(folder / "ledger.jsonl")
    for name in FILES:
        (folder / name).write_text(f"{name}\n")
    return Story(partial(ledger.append, durable=False), uri, **changes)


def metrics(score: float) -> dict[str, float]:
    return {"dev/macro_f1/eng": score, "dev/macro_f1/bel": round(score - 0.1, 3)}


def tell(story: Story) -> None:
    """Two sessions: c is interrupted in the first and done in the second, a further run of c never ends."""
    story.session()
    for config_id in SCORES:
        story.ask(config_id)
    story.start("c", 0)
    story.steps("c", 0)
    for config_id in ("a", "b"):
        for replicate, score in enumerate(SCORES[config_id]):
            story.run(config_id, replicate, score)
    story.session(revision="second")
    story.run("c", 0, SCORES["c"][0])
    story.start("c", 1)
    story.end()


def command(folder: Path, *options: str) -> subprocess.CompletedProcess:
    line = [sys.executable, "-m", "seedwise.search.tracking.follower", str(folder), *options]
    return subprocess.run(
        line, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TEST_TIMEOUT, check=False
    )


def follow_here(folder: Path, grace: float = 0) -> bool:
    """The same in this process, which has MLflow imported already. Its lock is given up, as when a process ends."""
    over = threading.Event()
    over.set()
    follows = follower.Follower(folder, over)
    try:
        return follows.follow(grace)
    finally:
        follows._lock.close()


def runs_of(uri: str, name: str = "story") -> dict[tuple, object]:
    """The MLflow runs by level, configuration and replicate; a duplicate run is an error."""
    from mlflow import MlflowClient

    client, runs = MlflowClient(uri), {}
    for run in client.search_runs([client.get_experiment_by_name(name).experiment_id], max_results=5000):
        tags = run.data.tags
        key = tuple(tags[name] for name in ("level", "config_id", "replicate") if name in tags)
        assert key not in runs
        runs[key] = run
    return runs


def history(uri: str, run: object, name: str) -> list[tuple[int, float]]:
    from mlflow import MlflowClient

    return sorted((point.step, point.value) for point in MlflowClient(uri).get_metric_history(run.info.run_id, name))


def rows(uri: str) -> list[tuple]:
    """Every metric row of a sqlite store, with the name of its run in place of MLflow's random id."""
    query = """select name, key, value, timestamp, step from metrics join runs using (run_uuid)
        where lifecycle_stage = 'active' order by 1, 2, 4, 5"""
    with contextlib.closing(sqlite3.connect(uri.removeprefix("sqlite:///"))) as database:
        return database.execute(query).fetchall()


def picture(uri: str, name: str = "story") -> tuple:
    """All that MLflow holds of the search, except random ids and the address."""
    runs = runs_of(uri, name)
    names = {run.info.run_id: key for key, run in runs.items()}
    return rows(uri), {
        key: (
            run.info.status,
            run.info.start_time,
            run.info.end_time,
            {name: value for name, value in run.data.params.items() if name != "tracking.uri"},
            {name: names.get(value, value) for name, value in run.data.tags.items()},
            [(dataset_input.dataset.name, dataset_input.dataset.digest) for dataset_input in run.inputs.dataset_inputs],
        )
        for key, run in runs.items()
    }


def twin(folder: Path, new: Path, uri: str) -> Path:
    """The same search, to be written to another store."""
    shutil.copytree(folder, new)
    lines = [json.loads(line) for line in (folder / "ledger.jsonl").read_text().splitlines()]
    for line in lines:
        if line["event"] == "search":
            line["specification"]["tracking"]["uri"] = uri
    (new / "ledger.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return new


def runs_in(uri: str) -> int:
    with contextlib.closing(sqlite3.connect(uri.removeprefix("sqlite:///"))) as store:
        return store.execute("select count(*) from runs").fetchone()[0]


def wait_for(condition) -> None:
    end = time.monotonic() + TEST_TIMEOUT
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        threading.Event().wait(0.05)


@contextlib.contextmanager
def server(uri: str, files: Path, port: int):
    """A real MLflow server on a database and a folder for artifacts. What it says is in a file beside that folder."""
    store = ["--backend-store-uri", uri, "--artifacts-destination", str(files)]
    with open(f"{files}.log", "a") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "mlflow", "server", "--port", str(port), "--workers", "1", *store],
            stdout=log,
            stderr=log,
            env={**os.environ, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"},
            start_new_session=True,
        )
    try:
        wait_for(lambda: process.poll() is not None or healthy(port))
        assert process.poll() is None, Path(log.name).read_text()
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):  # a test may have killed it
            os.killpg(process.pid, signal.SIGTERM)
        process.wait(TEST_TIMEOUT)


def healthy(port: int) -> bool:
    with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2) as answer:
        return answer.status == 200
    return False
