"""Racing against other strategies, at an equal number of runs: how good is the selected configuration and its score?

    python -m benchmarks.racing [--repetitions 100] [--smac-repetitions 30] [--budgets 40 80]
                                [--worlds bumps digits-apart] [--results FILE] [--quick] [--decisions] [--estimate]

Regret is the highest true mean of the world minus that of the selected configuration, optimism the reported score minus
the true mean, both in points of a percentage. `bumps` is another random function in every repetition; `digits-apart`
replays real training runs (benchmarks/tables/digits.py) with the seeds shuffled; there a point of the space is the
nearest row that is still free, for everyone alike. (In `digits` it is the nearest row: coming back to one is another
replicate for Seedwise, and a new configuration for the peers.) All run one run at a time, with the same TPE
(benchmarks/peers.py), and `race, 4 workers` four. Intervals are 95 % bootstrap over repetitions.

`race` spends its budget on the search, as all others do; `race+confirm` keeps 15 runs of the same budget for the three
best on fresh seeds, and reports the mean of its choice there. Worlds below 1000 are for `--tuning` alone.
`--results` keeps every search in a file, and what is in it is not run again. `--decisions` and `--estimate` time the
engine instead (benchmarks/decisions.py).
"""

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.peers import PEERS
from benchmarks.worlds import WORLDS

PROCESSES = 2
FIRST = 1000  # the first seed that was not used for tuning
NONE = {"top": 0, "fresh": 1}
OURS = {
    "race": {"policy": "race", "confirm": NONE},
    "race, 4 workers": {"policy": "race", "confirm": NONE},
    "race, common mean": {"policy": "race", "surrogate": False, "confirm": NONE},
    "fixed-3": {"policy": "fixed", "n": 3, "confirm": NONE},
    "fixed-5": {"policy": "fixed", "n": 5, "confirm": NONE},
    "halving": {"policy": "halving", "confirm": NONE},
    "race+confirm": {"policy": "race", "confirm": {"top": 3, "fresh": 5}},
}
COMPETITORS = (*OURS, *PEERS)
BOOTSTRAP = 4000


class Task(NamedTuple):
    """One search: who, in which world, with how many runs. The repetition is the seed of the world and the search."""

    world: str
    budget: int
    competitor: str
    repetition: int


def run(task: Task) -> dict:
    """Regret, optimism and seconds of one search; or the error if it failed."""
    start = time.perf_counter()
    try:
        outcome = search(task)
    except Exception as error:
        return {**task._asdict(), "error": repr(error)}
    return {**task._asdict(), **outcome, "seconds": time.perf_counter() - start}


def search(task: Task) -> dict:
    world = WORLDS[task.world](task.repetition)
    if task.competitor in PEERS:
        params, reported = PEERS[task.competitor](world, task.budget, task.repetition)
        covered = None
    else:
        from tests.simulate import simulate

        workers = 4 if task.competitor.endswith("4 workers") else 1
        outcome = simulate(
            world, replicates=OURS[task.competitor], runs=task.budget, seed=task.repetition, workers=workers
        )
        params, confirmed = outcome.params, outcome.confirmed
        reported = confirmed.mean if confirmed else outcome.reported
        covered = confirmed and confirmed.ci_low <= world.truth(params) <= confirmed.ci_high
    truth = world.truth(params)
    return {"regret": world.best - truth, "optimism": reported - truth, "covered": covered}


def tasks(options: argparse.Namespace) -> Iterable[Task]:
    """All searches, repetition by repetition, so that partial results can be compared after an interruption."""
    for repetition in range(options.repetitions):
        for world in options.worlds:
            for competitor in options.competitors:
                if competitor.startswith("smac") and repetition >= options.smac_repetitions:
                    continue
                most = 2 * max(options.budgets)
                more = {"race": {min(options.budgets) // 2, most}, "fixed-5": {most}}
                for budget in sorted(more.get(competitor, set()).union(options.budgets)):
                    yield Task(world, budget, competitor, repetition + (0 if options.tuning else FIRST))


def collect(options: argparse.Namespace) -> list[dict]:
    """Every search of the tasks, over two processes; those of the results file are read, new ones are added to it."""
    wanted, rows = list(tasks(options)), []
    if options.results and options.results.exists():
        rows = [json.loads(line) for line in options.results.read_text().splitlines()]
    known = {Task(*(row[name] for name in Task._fields)) for row in rows}
    open_ones, start = [task for task in wanted if task not in known], time.perf_counter()
    with multiprocessing.get_context("spawn").Pool(PROCESSES) as pool:
        for number, row in enumerate(pool.imap_unordered(run, open_ones), start=1):
            if "error" in row:
                print(f"skipped: {row}", file=sys.stderr)
                continue
            rows.append(row)
            if options.results:
                with open(options.results, "a") as file:
                    file.write(json.dumps(row) + "\n")
            if number % max(1, len(open_ones) // 50) == 0:
                print(f"{number} of {len(open_ones)} searches, {time.perf_counter() - start:.0f} s", flush=True)
    requested = set(wanted)
    return [row for row in rows if Task(*(row[name] for name in Task._fields)) in requested]


def report(rows: list[dict]) -> None:
    for world in dict.fromkeys(row["world"] for row in rows):
        by = defaultdict(dict)  # (competitor, budget) -> repetition -> row
        for row in rows:
            if row["world"] == world:
                by[row["competitor"], row["budget"]][row["repetition"]] = row
        for budget in sorted({budget for _, budget in by}):
            _standings(world, budget, {name: by[name, budget] for name in COMPETITORS if (name, budget) in by})
        _ratios(world, by)
        _coverage(world, by)


def _standings(world: str, budget: int, by: dict[str, dict[int, dict]]) -> None:
    title = f"{world}, {budget} runs"
    print(f"\n{title:22} {'regret [95 %]':24}{'optimism [95 %]':24}{'s':>6} {'n':>4}    race - it [95 %], paired")
    race = by.get("race", {})
    for name, of_strategy in by.items():
        regret, optimism = (_interval([row[key] for row in of_strategy.values()]) for key in ("regret", "optimism"))
        seconds = np.mean([row["seconds"] for row in of_strategy.values()])
        shared = sorted(race.keys() & of_strategy.keys()) if name != "race" else []
        paired = (
            _interval([race[number]["regret"] - of_strategy[number]["regret"] for number in shared]) if shared else ""
        )
        print(f"{name:22} {regret:24}{optimism:24}{seconds:6.2f} {len(of_strategy):4}    {paired}")


def _ratios(world: str, by: dict) -> None:
    """Where race reaches the regret that fixed-5 has at each budget, as a share of that budget."""
    raced = sorted(budget for name, budget in by if name == "race")
    for budget in sorted(budget for name, budget in by if name == "fixed-5"):
        if not raced:
            continue
        shared = sorted(set(by["fixed-5", budget]).intersection(*(by["race", race_budget] for race_budget in raced)))
        if not shared:
            continue
        race = np.array([[by["race", race_budget][number]["regret"] for race_budget in raced] for number in shared])
        fixed = np.array([by["fixed-5", budget][number]["regret"] for number in shared])
        again = np.random.default_rng(0).integers(len(shared), size=(1000, len(shared)))
        ratios = [_reached(raced, race[pick].mean(0), fixed[pick].mean()) / budget for pick in again]
        ratio, (low, high) = (
            _reached(raced, race.mean(0), fixed.mean()) / budget,
            np.quantile(ratios, [0.025, 0.975], method="nearest"),
        )
        bound = "at most " if ratio * budget <= raced[0] else ""
        print(
            f"{world}: race has the regret of fixed-5 with {budget} runs after {bound}{ratio * budget:.0f} runs: "
            f"{ratio:.2f} [{low:.2f}, {high:.2f}] of its budget (goal: 0.5)"
        )


def _reached(budgets: list[int], regrets: np.ndarray, goal: float) -> float:
    """The smallest budget with at most this regret, linear between those that ran; inf beyond the last of them."""
    if regrets[0] <= goal:
        return budgets[0]
    for index in range(1, len(budgets)):
        if regrets[index] <= goal:
            share = (regrets[index - 1] - goal) / (regrets[index - 1] - regrets[index])
            return budgets[index - 1] + share * (budgets[index] - budgets[index - 1])
    return float("inf")


def _coverage(world: str, by: dict) -> None:
    for (name, budget), outcomes in sorted(by.items()):
        covered = [row["covered"] for row in outcomes.values() if row["covered"] is not None]
        if covered:
            print(
                f"{world}, {budget} runs, {name}: the interval of the fresh seeds holds the true mean in "
                f"{np.mean(covered):.1%} of {len(covered)} (goal: 90 %)"
            )


def _interval(values: list[float]) -> str:
    """Mean and its 95 % bootstrap interval, as text."""
    values = np.array(values)
    means = values[np.random.default_rng(0).integers(len(values), size=(BOOTSTRAP, len(values)))].mean(1)
    low, high = np.quantile(means, [0.025, 0.975])
    return f"{values.mean():+.2f} [{low:+.2f}, {high:+.2f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=100)
    parser.add_argument("--smac-repetitions", type=int, default=30, help="fewer for SMAC3, whose searches take minutes")
    parser.add_argument("--budgets", type=int, nargs="+", default=[40, 80])
    parser.add_argument("--worlds", nargs="+", choices=list(WORLDS), default=["bumps", "digits-apart"])
    parser.add_argument("--competitors", nargs="+", choices=COMPETITORS, default=list(COMPETITORS))
    parser.add_argument("--results", type=Path, help="a file that keeps every search, one JSON line each")
    parser.add_argument("--quick", action="store_true", help="4 repetitions, 1 of SMAC3, budgets 40 and 80")
    parser.add_argument(
        "--tuning", action="store_true", help="use the worlds reserved for tuning, which no figure uses"
    )
    parser.add_argument("--decisions", action="store_true", help="time decisions instead")
    parser.add_argument("--estimate", action="store_true", help="time the estimate instead")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    if options.decisions or options.estimate:
        from benchmarks import decisions

        _ = options.decisions and decisions.decisions()
        _ = options.estimate and decisions.estimates()
        return
    if options.quick:
        options.repetitions, options.smac_repetitions, options.budgets = 4, 1, [40, 80]
    report(collect(options))


if __name__ == "__main__":
    main()
