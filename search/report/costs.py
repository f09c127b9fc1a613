"""What a search cost: hours by phase, on how many processors, and how much of it went into runs without a score."""

from dataclasses import dataclass

from seedwise.search.decide.policy import replicate_name
from seedwise.search.drawing.chart import BLUE, RED, Chart, label, listed, points
from seedwise.search.ledger.state import CONFIRM, DONE, SEARCH, State
from seedwise.search.ranking.results import Results
from seedwise.text import duration


@dataclass(frozen=True)
class Cost:
    """Runs and seconds by what they were for, and what of them was lost to failed and pruned runs.

    `wall` is seconds during which the search was running, all sessions together. CPU and GPU seconds are those that
    runs had to themselves; None where an old ledger does not say what `gpus_per_run: auto` was.
    """

    parts: dict[str, tuple[int, float]]
    lost: dict[str, tuple[int, float]]
    wall: float
    cpu: float
    gpu: float | None

    @property
    def runs(self) -> int:
        return sum(runs for runs, _ in self.parts.values())

    @property
    def seconds(self) -> float:
        return sum(seconds for _, seconds in self.parts.values())


def cost(state: State) -> Cost:
    """Of all runs that have ended."""
    parts: dict[str, tuple[int, float]] = {}
    lost: dict[str, tuple[int, float]] = {}
    for run in state.runs():
        if run.finished:
            baseline = run.phase == SEARCH and state.configurations[run.config_id].baseline
            _add(parts, "baselines" if baseline else run.phase, run.seconds)
            if run.status != DONE:
                _add(lost, run.status, run.seconds)
    seconds = sum(seconds for _, seconds in parts.values())
    cpus, gpus = state.resources["cpus_per_run"], state.resources["gpus_per_run"]
    return Cost(
        {name: parts[name] for name in (SEARCH, "baselines", CONFIRM) if name in parts},
        dict(sorted(lost.items())),
        state.worked,
        seconds * cpus,
        None if gpus == "auto" else seconds * gpus,
    )


def in_words(of: Cost) -> str:
    """The cost in two or three sentences."""
    parts = ", ".join(f"{name} {runs} runs in {duration(seconds)}" for name, (runs, seconds) in of.parts.items())
    gpu = "GPU time is not known (gpus_per_run: auto)" if of.gpu is None else f"{duration(of.gpu)} of GPU"
    told = f"{of.runs} runs took {duration(of.seconds)} in all, {duration(of.wall)} by the clock: {parts}. "
    told += f"That is {duration(of.cpu)} of CPU; {gpu}."
    if of.lost:
        runs, seconds = (sum(values) for values in zip(*of.lost.values(), strict=True))
        kinds = ", ".join(f"{count} {status}" for status, (count, _) in of.lost.items())
        told += f" {kinds}: {runs / of.runs:.0%} of the runs and {seconds / (of.seconds or 1):.0%} of their time."
    return told


def chart(found: Results) -> Chart:
    """Seconds of every run, by configuration."""
    rows = found.charted
    places = {row["config_id"]: place for place, row in enumerate(rows)}
    runs = [run for run in found.state.runs() if run.finished and run.config_id in places]
    data = []
    for done, name, colour, symbol in ((True, "done", BLUE, "circle-open"), (False, "failed", RED, "x-thin")):
        few = [run for run in runs if (run.status == DONE) == done]
        x, y = [run.seconds for run in few], [places[run.config_id] for run in few]
        told = [label(f"{replicate_name(run.replicate)}, {run.status}: {run.seconds:.1f} s") for run in few]
        hover = {"text": told, "hovertemplate": "%{text}<extra></extra>"}
        data += [points(name, x, y, colour, symbol=symbol, **hover)] if few else []
    seconds = sorted(run.seconds for run in runs)
    text = (
        f"Seconds of {len(seconds)} runs by configuration: the shortest took {seconds[0]:.1f}, the middle one "
        f"{seconds[len(seconds) // 2]:.1f}, the longest {seconds[-1]:.1f}."
    )
    layout = listed(found.names(rows), "seconds per run", legend=len(data) > 1, rangemode="tozero")
    caption = f"One point per run, fresh seeds included. {found.left_out}"
    return Chart("seconds", "", text, caption, data, layout)


def _add(table: dict[str, tuple[int, float]], name: str, seconds: float) -> None:
    runs, before = table.get(name, (0, 0.0))
    table[name] = (runs + 1, before + seconds)
