"""What writing to MLflow costs, against Ray's own callback, on the same runs. `python -m benchmarks.tracking`, minutes.

500 runs of 20 metrics at 5 steps each, into a new sqlite database, and over HTTP to a server on one. Ours writes more:
three levels of runs, with means over replicates. Two figures: seconds per run until all is in MLflow, and what a result
costs the loop that drives the search. Ray's callback writes within that loop; ours is a process that reads the ledger,
so that its part is what the loop loses to it beside, the same lines without it being the measure; also with a server
that is away. Both sides have imported MLflow and created their experiment before the clock starts.
"""

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

from seedwise.search.ledger.file import Ledger
from seedwise.search.tracking import follower, mlflow_sink
from tests.servers import own_port

METRICS, STEPS, REPLICATES = 20, 5, 5
GOAL_RATIO, GOAL_DELAY = 5, 0.002


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=500, help="runs of each side (default: 500)")
    runs = parser.parse_args().runs
    os.environ.update(mlflow_sink.ENVIRONMENT)
    for where in ("sqlite", "http"):
        with tempfile.TemporaryDirectory() as folder, store(where, Path(folder)) as (first, second):
            alone = tell(Path(folder) / "alone", runs)
            ours, beside = followed(Path(folder) / "search", first, runs)
            away = unheard(Path(folder) / "unheard", runs)
            rays, within = callback(second, runs)
        results = runs * (STEPS + 1)
        added, missing = (beside - alone) / results, (away - alone) / results
        print(f"{where}: {runs} runs x {METRICS} metrics x {STEPS} steps")
        print(f"  until in MLflow, ms per run: ours {1e3 * ours / runs:.1f}, Ray's callback {1e3 * rays / runs:.1f}")
        print(f"  Ray's / ours: {rays / ours:.1f} (goal: {GOAL_RATIO} or more)")
        print(f"  added to the loop, ms per result: ours {1e3 * added:.2f}, Ray's callback {1e3 * within:.2f}")
        print(f"  added to the loop while no server answers, ms per result: ours {1e3 * missing:.2f}")
        worst = max(added, missing, 0) / GOAL_DELAY
        print(f"  the larger of ours / the limit of 2 ms: {worst:.2f} (goal: below 1)", flush=True)


@contextlib.contextmanager
def store(where: str, folder: Path) -> Iterator[list[str]]:
    """Two new stores of a kind, with their tables."""
    from mlflow import MlflowClient

    databases = [f"sqlite:///{folder}/{name}.db" for name in ("ours", "rays")]
    for uri in databases:
        MlflowClient(uri).search_experiments()
    if where == "sqlite":
        yield databases
        return
    ports = [own_port(), own_port()]
    stores = [["--backend-store-uri", uri, "--artifacts-destination", str(folder / "files")] for uri in databases]
    servers = [
        subprocess.Popen(
            [sys.executable, "-m", "mlflow", "server", "--port", str(port), "--workers", "1", *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for port, options in zip(ports, stores, strict=True)
    ]
    try:
        addresses = [f"http://127.0.0.1:{port}" for port in ports]
        for address in addresses:
            await_health(address)
        yield addresses
    finally:
        for process in servers:
            process.terminate()
            process.wait()


def await_health(address: str) -> None:
    for _ in range(600):
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{address}/health", timeout=1):
            return
        time.sleep(0.2)
    raise TimeoutError(f"{address} does not answer")


def metrics(run: int, step: int) -> dict[str, float]:
    return {f"dev/metric{number}/eng": (run * STEPS + step + number) / 1e4 for number in range(METRICS)}


def tell(folder: Path, runs: int, uri: str = "off", ready: Callable[[], None] = lambda: None) -> float:
    """Write the ledger of such a search and return the seconds of its lines. Waits for `ready` after the first line."""
    ledger = Ledger(folder / "ledger.jsonl")
    specification = {
        "name": "tracking",
        "method": "stitching",
        "select": {"metric": "metric0", "on": "source_dev", "aggregate": "mean"},
        "task": {"source": "eng", "targets": []},
        "tracking": {"uri": uri},
    }
    ledger.append({"event": "search", "name": "tracking", "search_id": "0", "specification": specification})
    ready()
    started = time.perf_counter()
    for run in range(runs):
        config_id, replicate = f"c{run // REPLICATES}", run % REPLICATES
        if replicate == 0:
            ledger.append({"event": "ask", "config_id": config_id, "params": {"k": run, "tau": 0.1}, "ask": run})
        key = {"config_id": config_id, "replicate": replicate}
        ledger.append({"event": "start", **key, "phase": "search"})
        for step in range(1, STEPS + 1):
            ledger.append({"event": "step", **key, "step": step, "metrics": metrics(run, step)}, durable=False)
        outcome = {"phase": "search", "status": "done", "step": STEPS, "seconds": 1.0}
        ledger.append({"event": "result", **key, **outcome, "metrics": metrics(run, STEPS)})
    seconds = time.perf_counter() - started
    ledger.append({"event": "end", "because": "done"})
    ledger.close()
    return seconds


def followed(folder: Path, uri: str, runs: int) -> tuple[float, float]:
    """Seconds until everything is in MLflow, and seconds of the ledger's lines beside the follower."""
    from mlflow import MlflowClient

    client, started = MlflowClient(uri), 0.0

    def begun() -> None:
        nonlocal started
        while client.get_experiment_by_name("tracking") is None:
            time.sleep(0.1)
        started = time.perf_counter()

    process = follower.start_follower(folder)
    loop = tell(folder, runs, uri, begun)
    if not follower.finish(process, 3600):
        raise RuntimeError((folder / "tracking.log").read_text())
    return time.perf_counter() - started, loop


def unheard(folder: Path, runs: int) -> float:
    """Seconds of the ledger's lines beside a follower whose server is unreachable."""

    def tried() -> None:
        while "cannot be written" not in (folder / "tracking.log").read_text():
            time.sleep(0.1)

    process = follower.start_follower(folder)
    loop = tell(folder, runs, f"http://127.0.0.1:{own_port()}", tried)
    process.kill()  # it ignores SIGTERM
    process.wait()
    return loop


def callback(uri: str, runs: int) -> tuple[float, float]:
    """Seconds that Ray's callback takes for the same runs, and per result."""
    from ray.air.integrations.mlflow import MLflowLoggerCallback

    logger = MLflowLoggerCallback(tracking_uri=uri, experiment_name="tracking")
    logger.setup()
    started = time.perf_counter()
    within = 0.0
    for run in range(runs):
        trial = _Trial(config={"k": run // REPLICATES, "tau": 0.1, "replicate": run % REPLICATES})
        logger.log_trial_start(trial)
        before = time.perf_counter()
        for step in range(1, STEPS + 1):
            logger.log_trial_result(step, trial, {**metrics(run, step), "training_iteration": step})
        within += time.perf_counter() - before
        logger.log_trial_end(trial)
    return time.perf_counter() - started, within / (runs * STEPS)


class _Trial(SimpleNamespace):
    """The attributes of a trial that the callback reads."""

    __hash__ = object.__hash__


if __name__ == "__main__":
    main()
