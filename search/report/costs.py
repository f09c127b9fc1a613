"""The cost of a search: time by phase, CPU and GPU time, and the time lost to failed and pruned runs."""

from collections.abc import Callable
from dataclasses import dataclass

from seedwise.search.decide.policy import replicate_name
from seedwise.search.drawing.chart import BLUE, RED, Chart, label, listed, points
from seedwise.search.ledger.state import CONFIRM, DONE, SEARCH, Run, State
from seedwise.search.ranking.results import Results
from seedwise.text import duration

BASELINES = "baselines"


@dataclass(frozen=True)
class Cost:
    """Runs and seconds: in all, by part of the search, and lost to failed and pruned runs.

    `wall` is the seconds during which the search was running, over all sessions. `cpu` and `gpu` are the seconds that
    were reserved for runs; `gpu` is None if an old ledger does not resolve `gpus_per_run: auto`.
    """

    runs: int
    seconds: float
    parts: dict[str, tuple[int, float]]
    lost: dict[str, tuple[int, float]]
    wall: float
    cpu: float
    gpu: float | None


def cost(state: State) -> Cost:
    """The cost of all runs that have ended."""

    def part(run: Run) -> str:
        return BASELINES if run.phase == SEARCH and state.configurations[run.config_id].baseline else run.phase

    runs = [run for run in state.runs() if run.finished]
    parts = _summed(runs, part)
    seconds, gpus = sum(run.seconds for run in runs), state.resources["gpus_per_run"]
    return Cost(
        len(runs),
        seconds,
        {name: parts[name] for name in (SEARCH, BASELINES, CONFIRM) if name in parts},
        dict(sorted(_summed([run for run in runs if run.status != DONE], lambda run: run.status).items())),
        state.worked,
        seconds * state.resources["cpus_per_run"],
        None if gpus == "auto" else seconds * gpus,
    )


def _summed(runs: list[Run], kind: Callable[[Run], str]) -> dict[str, tuple[int, float]]:
    """The number and the total seconds of runs, by kind."""
    groups: dict[str, list[float]] = {}
    for run in runs:
        groups.setdefault(kind(run), []).append(run.seconds)
    return {name: (len(seconds), sum(seconds)) for name, seconds in groups.items()}


def in_words(cost: Cost) -> str:
    """The cost in two or three sentences."""
    parts = ", ".join(f"{name} {runs} runs in {duration(seconds)}" for name, (runs, seconds) in cost.parts.items())
    gpu = "GPU time is not known (gpus_per_run: auto)" if cost.gpu is None else f"{duration(cost.gpu)} of GPU"
    words = f"{cost.runs} runs took {duration(cost.seconds)} in all, {duration(cost.wall)} by the clock: {parts}. "
    words += f"That is {duration(cost.cpu)} of CPU; {gpu}."
    if cost.lost:
        runs, seconds = (sum(values) for values in zip(*cost.lost.values(), strict=True))
        kinds = ", ".join(f"{count} {status}" for status, (count, _) in cost.lost.items())
        words += f" {kinds}: {runs / cost.runs:.0%} of the runs and {seconds / (cost.seconds or 1):.0%} of their time."
    return words


def chart(results: Results) -> Chart:
    """A chart of the seconds of every run, by configuration."""
    rows = results.charted
    lines = {row["config_id"]: line for line, row in enumerate(rows)}
    runs = [run for run in results.state.runs() if run.finished and run.config_id in lines]
    data = []
    for done, name, colour, symbol in ((True, DONE, BLUE, "circle-open"), (False, "failed", RED, "x-thin")):
        shown = [run for run in runs if (run.status == DONE) == done]
        x, y = [run.seconds for run in shown], [lines[run.config_id] for run in shown]
        text = [label(f"{replicate_name(run.replicate)}, {run.status}: {duration(run.seconds)}") for run in shown]
        hover = {"text": text, "hovertemplate": "%{text}<extra></extra>"}
        data += [points(name, x, y, colour, symbol=symbol, **hover)] if shown else []
    seconds = sorted(run.seconds for run in runs)
    text = (
        f"Seconds of {len(seconds)} runs by configuration: the shortest took {seconds[0]:.1f}, the median run "
        f"{seconds[len(seconds) // 2]:.1f}, the longest {seconds[-1]:.1f}."
    )
    layout = listed(results.names(rows), "seconds per run", legend=len(data) > 1, rangemode="tozero")
    caption = f"One point per run, fresh seeds included. {results.left_out}"
    return Chart("seconds", "", text, caption, data, layout)
