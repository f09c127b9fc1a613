"""How a search scales: how busy its slots are, and what the driver costs per run as runs become many.

    python -m benchmarks.scale [--slots 2,8,32] [--rounds 20] [--runs 100,1000,5000] [--full]

Efficiency is busy time over slots x wall time, of runs that wait one second, so that any number of logical slots fits
on any machine. The peer is plain Ray Tune on the same Ray: a function that waits as long, reused workers, loggers off.
Ray's own processes are started before; those of the search are part of the whole, but not of the time between the
first run's start and the last run's end.

The driver's time per run is its CPU time per run without Ray's part: the decision, the lines of the ledger on disk, the
progress. Results come from memory, eight at a time. With --full they are real runs
that do nothing, through Ray and Tune, and CPU time is taken between results. The default search (tpe, race) takes
longer: more than 1000 runs of it, a quarter of an hour, are part of --full only.
"""

import argparse
import io
import os
import statistics
import tempfile
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import ray
from ray import tune
from rich.console import Console

from benchmarks.waiting import SECONDS, waited
from seedwise.search.cluster.nodes import ENVIRONMENT
from seedwise.search.decide.next_run import next_run
from seedwise.search.decide.policy import Stop
from seedwise.search.ledger.file import Ledger
from seedwise.search.report.live import Progress
from seedwise.search.spec.load import from_dict
from seedwise.search.spec.schema import Specification
from seedwise.search.studies.launch import search as launch

EFFICIENT, FLAT = 0.9, 1.2  # the goals: at 8 slots, and at the most runs against the fewest
LAST = 10  # turns at the end of a search, timed apart: they have the most configurations
LONG = 1000  # runs of the default search, beyond which --full is needed
FLIGHT = 8  # runs at once, with results from memory
AROUND = 2  # small searches before and after each search through Ray
PARTS = ("decide", "ledger", "progress")
PLAIN = {"policy": "fixed", "n": 1, "confirm": {"top": 0}}
CHOICES = {
    "random, fixed": ("random", PLAIN),
    "tpe, race (default)": ("tpe", {"policy": "race", "confirm": {"top": 0}}),
}


def specified(runs: int, method: str, sampler: str = "random", replicates: dict = PLAIN) -> Specification:
    module, _, name = method.partition(":")
    return from_dict(
        {
            "name": "scale",
            "method": {"trainable": f"{module}:{name}", "space": f"{module}:space"},
            "budget": {"runs": runs},
            "sampler": sampler,
            "replicates": replicates,
            "select": {"on": "metric", "metric": "value"},
            "tracking": {"uri": "off"},
        }
    )


@contextmanager
def ray_of(slots: int) -> Iterator[None]:
    """Ray with so many logical slots, its first workers started."""
    os.environ["PYTHONPATH"] = str(Path(__file__).resolve().parent.parent)
    os.environ.update(ENVIRONMENT)
    ray.init(address="local", num_cpus=slots, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    task = ray.remote(num_cpus=1)(lambda: time.sleep(SECONDS))
    ray.get([task.remote() for _ in range(slots)])
    try:
        yield
    finally:
        ray.shutdown()


def ours(runs: int, slots: int, folder: Path) -> tuple[float, list[dict]]:
    """Wall time of the whole search, and the times reported by its runs."""
    with open(os.devnull, "w") as nowhere:
        start = time.perf_counter()
        outcome = launch(specified(runs, "benchmarks.waiting:Waiting"), folder, Console(file=nowhere))
        return time.perf_counter() - start, [run.metrics for run in outcome.results.state.runs()]


def plain(runs: int, slots: int, folder: Path) -> tuple[float, list[dict]]:
    """The same with plain Ray Tune."""
    for name in ENVIRONMENT:
        os.environ.pop(name, None)
    os.environ |= {"TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1", "RAY_AIR_NEW_OUTPUT": "0"}
    start = time.perf_counter()
    results = tune.Tuner(
        lambda config: tune.report(waited(config)),
        param_space={"x": tune.uniform(-1, 1)},
        tune_config=tune.TuneConfig(num_samples=runs, max_concurrent_trials=slots, reuse_actors=True),
        run_config=tune.RunConfig(storage_path=str(folder), verbose=0),
    ).fit()
    return time.perf_counter() - start, [result.metrics for result in results]


def efficiency(slots: int, rounds: int, folder: Path) -> None:
    runs, inner = slots * rounds, {}
    for name, method in {"Seedwise": ours, "plain Ray Tune": plain}.items():
        with ray_of(slots):
            wall, said = method(runs, slots, folder / f"{name} {slots}")
        assert len(said) == runs
        busy = sum(run["ended"] - run["began"] for run in said)
        between = max(run["ended"] for run in said) - min(run["began"] for run in said)
        inner[name] = busy / (slots * between)
        gaps = gaps_of(said)
        goal = f" (goal: {EFFICIENT})" if slots == 8 and method is ours else ""
        print(
            f"{name}, {slots} slots, {runs} runs of {SECONDS:g} s: efficiency {inner[name]:.3f}{goal} between the "
            f"first run's start and the last one's end, {busy / (slots * wall):.3f} of the whole {wall:.1f} s; a slot "
            f"is free for {1000 * statistics.median(gaps):.0f} ms between two runs (median), at most "
            f"{1000 * max(gaps):.0f} ms; {len({run['process'] for run in said})} processes; "
            f"load of the machine {os.getloadavg()[0]:.1f}",
            flush=True,
        )
    print(f"efficiency, Seedwise / plain Ray Tune, {slots} slots: {inner['Seedwise'] / inner['plain Ray Tune']:.2f}x")


def gaps_of(said: Sequence[dict]) -> list[float]:
    """Seconds between two runs of one process."""
    gaps, last = [0.0], {}
    for run in sorted(said, key=lambda run: run["began"]):
        gaps += [run["began"] - last[run["process"]]] if run["process"] in last else []
        last[run["process"]] = run["ended"]
    return gaps[1:] or gaps


def driven(runs: int, choice: str, folder: Path, parts: Counter) -> Iterator[None]:
    """A search without Ray, in turns: one to get ready, then one per result. CPU seconds of its parts go to `parts`."""
    specification = specified(runs, "benchmarks.nothing:Nothing", *CHOICES[choice])
    estimator = specification.parts.estimator
    policy, proposer = specification.parts.policy, specification.parts.proposer
    flight, stopped, ledger = deque(), False, Ledger(folder / "ledger.jsonl")
    ledger.append({"event": "search", "search_id": "scale", "specification": specification.as_dict()})

    @contextmanager
    def clock(part: str) -> Iterator[None]:
        start = time.process_time()
        yield
        parts[part] += time.process_time() - start

    with open(os.devnull, "w") as nowhere, Progress(Console(file=nowhere), ledger.state, estimator, runs) as progress:
        yield
        while flight or not stopped:
            while len(flight) < FLIGHT and not stopped:
                with clock("decide"):
                    decision = next_run(ledger.state, policy, proposer)
                with clock("ledger"):
                    for event in decision.events:
                        ledger.append(event)
                stopped = isinstance(decision.run, Stop)
                flight += [] if stopped else [decision.run]
            run = flight.popleft()
            configuration = ledger.state.configurations[run.config_id]
            result = {"config_id": run.config_id, "replicate": run.replicate, "phase": run.phase, "status": "done"}
            value = {"metrics": {"value": -(configuration.params["x"] ** 2)}, "seconds": 1.0}
            with clock("ledger"):
                ledger.append({"event": "result", **result, **value})
            with clock("progress"):
                progress.result(configuration.runs[run.replicate])
            yield
    ledger.close()


def advanced(search: Iterator[None], runs: int) -> float:
    """CPU seconds per run of the next so many runs of a search."""
    start = time.process_time()
    assert sum(1 for _ in islice(search, runs)) == runs
    return (time.process_time() - start) / runs


def driver(runs: int, fewest: int, choice: str, folder: Path) -> None:
    """One search, interleaved with searches of `fewest` runs, so that a busy machine slows down both alike."""
    parts, small, large = Counter(), [], []
    search = driven(runs, choice, folder / f"{choice} {runs}", parts)
    next(search)
    for turn in range(runs // fewest):
        beside = driven(fewest, choice, folder / f"{choice} {runs} {turn}", Counter())
        next(beside)
        small.append(advanced(beside, fewest))
        large.append(advanced(search, fewest))
    by_part = ", ".join(f"{part} {1000 * parts[part] / runs:.2f}" for part in PARTS)
    last = statistics.median(late / early for late, early in list(zip(large, small, strict=True))[-LAST:])
    goal = f" (goal: {FLAT})" if choice == next(iter(CHOICES)) else ""
    print(
        f"driver, {choice}, {runs} runs: {1000 * statistics.fmean(large):.2f} ms of CPU time per run ({by_part}); "
        f"{runs} : {fewest} runs {sum(large) / sum(small):.2f}, at the end {last:.2f}{goal}",
        flush=True,
    )


class Marks(io.TextIOBase):
    """A fake terminal: it records the CPU time of this process at every line about a result."""

    def __init__(self) -> None:
        self.at: list[float] = []

    def write(self, text: str) -> int:
        if ": done" in text:
            self.at.append(time.process_time())
        return len(text)


def real(runs: int, folder: Path) -> float:
    """CPU seconds of the driver between two results of a random search through Ray and Tune, whose runs do nothing."""
    marks = Marks()
    launch(specified(runs, "benchmarks.nothing:Nothing"), folder, Console(file=marks))
    assert len(marks.at) == runs
    return (marks.at[-1] - marks.at[0]) / (runs - 1)


def through_ray(sizes: Sequence[int], folder: Path) -> None:
    """Searches cannot be interleaved here, so those of the smallest size run before and after each larger one."""
    fewest = min(sizes)
    with ray_of(FLIGHT):
        real(2 * FLIGHT, folder / "first through Ray")  # imports everything needed
        for runs in sizes:
            before = [real(fewest, folder / f"before {runs} {turn}") for turn in range(AROUND)]
            large = real(runs, folder / f"through Ray {runs}")
            after = [real(fewest, folder / f"after {runs} {turn}") for turn in range(AROUND)]
            print(
                f"driver, random, fixed, through Ray, {runs} runs: {1000 * large:.2f} ms of CPU time per run, "
                f"{runs} : {fewest} runs {large / statistics.median(before + after):.2f} (goal: {FLAT})",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    numbers = {"type": lambda text: [int(word) for word in text.split(",") if word]}
    parser.add_argument("--slots", default=[2, 8, 32], **numbers, help="logical slots; empty for none of this part")
    parser.add_argument("--rounds", type=int, default=20, help="runs per slot")
    parser.add_argument("--runs", default=[100, 1000, 5000], **numbers, help="empty for none of this part")
    parser.add_argument("--full", action="store_true", help="the driver's time through Ray and Tune as well")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for slots in options.slots:
            efficiency(slots, options.rounds, folder)
        for choice in CHOICES if options.runs else ():
            all_sizes = options.full or choice == next(iter(CHOICES))
            for runs in options.runs:
                if all_sizes or runs <= LONG:
                    driver(runs, min(options.runs), choice, folder)
        if options.full:
            through_ray(options.runs, folder)


if __name__ == "__main__":
    main()
