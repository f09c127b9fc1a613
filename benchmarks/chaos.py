"""A search under random faults: what is lost, what is repeated, and how much longer it takes. Six minutes on two cores.

    python -m benchmarks.chaos [--runs 100] [--pause 6] [--seed 0]

One search (random sampler) of runs of four seconds on a real cluster of raylets, tracked by a real MLflow server, once
undisturbed and once with a random fault every few seconds: a worker killed, a node killed (another one comes for it),
the driver killed and resumed, the MLflow server killed and started again. At the end: every planned run has
exactly one result, the leaderboards are equal, and MLflow has every run. The search is only ever resumed.
"""

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import psutil
from ray.cluster_utils import Cluster

from benchmarks.tracking import await_health
from seedwise import yaml12
from seedwise.search.ledger.file import read, scan
from tests.servers import own_port

ROOT = Path(__file__).resolve().parent.parent
NODES, AWAY_SECONDS, LEAST = 4, 5.0, 20
SPECIFICATION = {
    "name": "chaos",
    "method": {"trainable": "benchmarks.steady:Steady", "space": "benchmarks.steady:space"},
    "sampler": "random",
    "replicates": {"policy": "fixed", "n": 4, "confirm": {"top": 0}},
    "select": {"on": "metric", "metric": "value"},
    "checkpoints": {"seconds": 0},
}


class Server:
    """MLflow over HTTP on a database of its own."""

    def __init__(self, folder: Path):
        self.port, self.folder, self.process = own_port(), folder, None
        self.address = f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        store = ["--backend-store-uri", f"sqlite:///{self.folder}/mlflow.db", "--workers", "1"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "mlflow", "server", "--port", str(self.port), *store],
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class Search:
    """The driver: started by one command, and resumed by another after it was killed."""

    def __init__(self, home: Path, address: str, uri: str, runs: int):
        self.home, self.address, self.folder = home, address, home / "runs" / "chaos"
        home.mkdir()
        specification = {**SPECIFICATION, "budget": {"runs": runs}, "tracking": {"uri": uri}}
        (home / "spec.yaml").write_text(yaml12.dump(specification))
        self.process = self._start("search", "spec.yaml")

    def _start(self, *arguments: str) -> subprocess.Popen:
        with open(self.home / "log.txt", "a") as log:
            return subprocess.Popen(
                [sys.executable, str(ROOT / "run_search.py"), *arguments, "--address", self.address],
                cwd=self.home,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                stdout=log,
                stderr=log,
            )

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def resume(self) -> None:
        self.process = self._start("resume", str(self.folder))

    def results(self) -> list[tuple[str, int]]:
        path = self.folder / "ledger.jsonl"
        events = scan(path)[0] if path.exists() else []
        return [(event["config_id"], event["replicate"]) for event in events if event["event"] == "result"]

    def board(self) -> list[dict]:
        rows = json.loads((self.folder / "leaderboard.json").read_text())
        return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


class Faults:
    """Random faults, drawn from a seed; only faults that really happened are counted."""

    def __init__(self, cluster: Cluster, search: Search, server: Server, seed: int):
        self.cluster, self.search, self.server, self.draw = cluster, search, server, random.Random(seed)
        self.happened: Counter[str] = Counter()
        self.back_at = 0.0  # when the server comes back; 0: it is up

    def inject(self) -> None:
        kind = self.draw.choices(["worker", "node", "driver", "tracking"], [4, 2, 2, 2])[0]
        if getattr(self, kind)():
            self.happened[kind] += 1

    def worker(self) -> bool:
        working = [candidate for candidate in psutil.process_iter(["cmdline"]) if self._works(candidate)]
        if not working:
            return False
        with contextlib.suppress(psutil.NoSuchProcess):
            self.draw.choice(working).kill()
        return True

    def _works(self, process: psutil.Process) -> bool:
        """Whether it runs a trial of this cluster: Ray writes the task of a worker into its process title."""
        title = " ".join(process.info["cmdline"] or [])
        if not title.startswith("ray::") or "Trainable" not in title:
            return False
        raylets = {raylet.process.pid for node in self.cluster.worker_nodes for raylet in node.all_processes["raylet"]}
        with contextlib.suppress(psutil.NoSuchProcess):
            return any(parent.pid in raylets for parent in process.parents())
        return False

    def node(self) -> bool:
        self.cluster.remove_node(self.draw.choice(sorted(self.cluster.worker_nodes, key=id)), allow_graceful=False)
        self.cluster.add_node(num_cpus=1, wait=False)
        return True

    def driver(self) -> bool:
        if self.search.process.poll() is not None:
            return False
        self.search.kill()
        self.search.resume()
        return True

    def tracking(self) -> bool:
        if self.back_at:
            return False
        self.server.kill()
        self.back_at = time.monotonic() + AWAY_SECONDS
        return True

    def mend(self, *, now: bool = False) -> None:
        if self.back_at and (now or time.monotonic() > self.back_at):
            self.server.start()
            self.back_at = 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100, help="of the search (default: 100)")
    parser.add_argument("--pause", type=float, default=6.0, help="seconds from one fault to the next (default: 6)")
    parser.add_argument("--seed", type=int, default=0, help="of the faults (default: 0)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="chaos-", ignore_cleanup_errors=True) as name:
        home = Path(name)
        server, cluster = Server(home), Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
        try:
            for _ in range(NODES):
                cluster.add_node(num_cpus=1)
            server.start()
            await_health(server.address)
            calm, calm_seconds = undisturbed(home / "calm", cluster, server, options.runs)
            chaotic, faults, seconds = disturbed(home / "chaos", cluster, server, options)
            tell(calm, chaotic, faults, seconds / calm_seconds, server.address)
        finally:
            server.kill()
            cluster.shutdown()


def undisturbed(home: Path, cluster: Cluster, server: Server, runs: int) -> tuple[Search, float]:
    started = time.monotonic()
    search = Search(home, cluster.address, server.address, runs)
    if search.process.wait():
        raise RuntimeError((home / "log.txt").read_text())
    return search, time.monotonic() - started


def disturbed(
    home: Path, cluster: Cluster, server: Server, options: argparse.Namespace
) -> tuple[Search, Faults, float]:
    started = due = time.monotonic()
    search = Search(home, cluster.address, server.address, options.runs)
    faults = Faults(cluster, search, server, options.seed)
    while search.process.poll() is None:
        time.sleep(0.1)
        faults.mend()
        if time.monotonic() > due + options.pause and 0 < len(search.results()) < options.runs:  # while it runs
            faults.inject()
            due = time.monotonic()
    if search.process.returncode:
        raise RuntimeError((home / "log.txt").read_text())
    seconds = time.monotonic() - started
    faults.mend(now=True)
    await_health(server.address)
    return search, faults, seconds


def tell(calm: Search, chaotic: Search, faults: Faults, slowdown: float, address: str) -> None:
    planned, done = set(calm.results()), chaotic.results()
    again = subprocess.run(
        [sys.executable, str(ROOT / "run_search.py"), "track", str(chaotic.folder)],
        cwd=chaotic.home,
        capture_output=True,
    )
    total = sum(faults.happened.values())
    losses = Counter(event["because"] for event in scan(chaotic.folder / "ledger.jsonl")[0] if event["event"] == "lost")
    print(f"faults: {total} (goal: {LEAST} or more): {dict(faults.happened)}")
    print(f"runs that lost their worker and went on: {sum(losses.values())} {dict(losses)}")
    print(f"planned runs without a result: {len(planned.difference(done))} of {len(planned)} (goal: 0)")
    print(f"finished runs that were repeated: {len(done) - len(set(done))} (goal: 0)")
    print(f"leaderboard equal to the undisturbed one: {chaotic.board() == calm.board()} (goal: True)")
    print(f"runs in MLflow: {in_mlflow(chaotic, address)} of {len(planned)}, complete: {again.returncode == 0}")
    print(f"time with faults / without: {slowdown:.2f}")


def in_mlflow(search: Search, address: str) -> int:
    from mlflow import MlflowClient

    from seedwise.search.tracking.mlflow_sink import runs_of

    client, known = MlflowClient(address), read(search.folder / "ledger.jsonl").search
    runs = runs_of(client, client.get_experiment_by_name("chaos").experiment_id, known["search_id"])
    return sum("replicate" in run.data.tags and run.info.status == "FINISHED" for run in runs)


if __name__ == "__main__":
    main()
