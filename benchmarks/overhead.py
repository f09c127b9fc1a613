"""Overhead of a run: this launcher against plain Ray Tune, in the same process, on the same Ray.

    python -m benchmarks.overhead [--runs 200]

Both sides run a trainable that does nothing, two at a time, over a space of one float with Optuna's TPE. Plain
Ray Tune is as its documentation has it: a class trainable, OptunaSearch, default loggers. Ours is the whole
launcher: ledger with disk barriers, a proposal rebuilt from it for every run, leaderboard, best.yaml; once
without tracking, which plain Ray Tune does not have either, and once with the MLflow follower writing to sqlite
beside it. Starting the workers counts, starting Ray does not; a first small search imports everything both need.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

import ray
from ray import tune
from ray.tune.search.optuna import OptunaSearch
from rich.console import Console

from seedwise.search.cluster.nodes import ENVIRONMENT
from seedwise.search.spec.load import from_dict
from seedwise.search.studies.launch import search as launch

SLOTS = 2
LIMIT = 0.06  # seconds per run


class PlainNothing(tune.Trainable):
    """The same for plain Ray Tune."""

    def setup(self, config: dict) -> None:
        self.x = config["x"]

    def step(self) -> dict:
        return {"value": -(self.x**2), "done": True}

    def save_checkpoint(self, checkpoint_dir: str) -> None:
        (Path(checkpoint_dir) / "x").write_text(str(self.x))


def ours(runs: int, folder: Path, uri: str) -> tuple[float, float]:
    """Seconds until the search has ended, and until the launcher returns, MLflow complete."""
    specification = from_dict(
        {
            "name": "overhead",
            "method": {"trainable": "benchmarks.nothing:Nothing", "space": "benchmarks.nothing:space"},
            "budget": {"runs": runs},
            "replicates": {"policy": "fixed", "n": 1, "confirm": {"top": 0}},
            "select": {"on": "metric", "metric": "value"},
            "tracking": {"uri": uri},
        }
    )
    with open(os.devnull, "w") as nowhere:
        start = time.perf_counter()
        state = launch(specification, folder / "search", Console(file=nowhere)).results.state
        returned = time.perf_counter() - start
    assert sum(run.status == "done" for run in state.runs()) == runs
    return state.last_time - state.search["time"], returned


def plain(runs: int, folder: Path) -> float:
    for name in ENVIRONMENT:
        os.environ.pop(name, None)  # as a new user has it
    start = time.perf_counter()
    tune.Tuner(
        PlainNothing,
        param_space={"x": tune.uniform(-1, 1)},
        tune_config=tune.TuneConfig(
            metric="value",
            mode="max",
            search_alg=OptunaSearch(),
            num_samples=runs,
            max_concurrent_trials=SLOTS,
        ),
        run_config=tune.RunConfig(storage_path=str(folder / "plain"), verbose=0),
    ).fit()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--plain-runs", type=int, help="fewer for plain Ray Tune, whose runs all cost the same")
    options = parser.parse_args()
    plain_runs = options.plain_runs or options.runs
    os.environ["PYTHONPATH"] = str(Path(__file__).resolve().parent.parent)
    os.environ.update(ENVIRONMENT)
    ray.init("local", num_cpus=SLOTS, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    with tempfile.TemporaryDirectory() as folder:
        ours(2 * SLOTS, Path(folder) / "first", "off")  # imports what both sides need
        bare = ours(options.runs, Path(folder) / "bare", "off")[1] / options.runs
        tracked, complete = ours(options.runs, Path(folder) / "tracked", f"sqlite:///{folder}/mlflow.db")
        tracked, complete = tracked / options.runs, complete / options.runs
        theirs = plain(plain_runs, Path(folder)) / plain_runs
    ray.shutdown()
    rows = {
        "Seedwise, no tracking": bare,
        "Seedwise, MLflow following, search over": tracked,
        "Seedwise, MLflow following, MLflow complete": complete,
    }
    print(f"plain Ray Tune, OptunaSearch, default loggers: {theirs * 1000:.1f} ms per run ({plain_runs} runs)")
    for name, seconds in rows.items():
        print(
            f"{name}: {seconds * 1000:.1f} ms per run ({options.runs} runs, {SLOTS} slots), "
            f"plain / Seedwise {theirs / seconds:.1f}x (goal: 5), Seedwise / 60 ms {seconds / LIMIT:.2f} (goal: 1)"
        )


if __name__ == "__main__":
    main()
