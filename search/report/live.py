"""The live view in the terminal: running runs, results, the best configuration so far, and the time left."""

import time
from collections.abc import Callable
from operator import attrgetter

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from seedwise.search.decide.policy import replicate_name, run_name
from seedwise.search.drawing.table import Column, Table
from seedwise.search.ledger.state import DONE, RUNNING, Run, State
from seedwise.search.ranking.estimator import Estimator
from seedwise.search.ranking.leaderboard import leaderboard
from seedwise.search.report.table import as_table
from seedwise.text import duration, number

REFRESH_SECONDS = 1.0
IDLE_FACTOR = 20  # the next redraw waits 20 times as long as the last one took, so that drawing costs at most 5 %
TABLE_ROWS = 10
BAR_COLUMNS = 16

Named = Callable[[Run], str]  # a readable name for the configuration of a run
BY_ID: Named = attrgetter("config_id")


class Progress:
    """A table that redraws itself in a terminal; in a pipe or a log file, one line per finished run."""

    def __init__(self, console: Console, state: State, estimator: Estimator, total: int | None, named: Named = BY_ID):
        self.console, self.state, self.estimator, self.total, self.named = console, state, estimator, total, named
        self.selection = estimator.selection
        self.started, self.due = time.monotonic(), 0.0
        self.before = state.tally.finished
        self.live = Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else None

    def __enter__(self) -> "Progress":
        if self.live:
            self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.live:
            self.live.stop()

    def result(self, run: Run) -> None:
        """Print the result of a run, unless a live table shows it."""
        if self.live:
            return
        outcome = self.score(run) if run.status == DONE else run.error
        name, done = run_name(self.named(run), run.replicate), self._count(self.state.tally.finished)
        self.console.print(f"{done}  {name}: {run.status}, {outcome} ({duration(run.seconds)})", soft_wrap=True)

    def score(self, run: Run) -> str:
        """The result of a run that is done."""
        return f"{self.selection.label} {number(self.selection.score(run.metrics))}"

    def say(self, text: str) -> None:
        """Print a line above the live table."""
        self.console.print(text, soft_wrap=True)

    def tick(self) -> None:
        """Redraw if it is time. Cheap enough for every turn of Tune's loop."""
        start = time.monotonic()
        if self.live and start >= self.due:
            self.live.update(self.view(), refresh=True)
            self.due = start + max(REFRESH_SECONDS, IDLE_FACTOR * (time.monotonic() - start))

    def view(self) -> Group:
        running = [run for run in self.state.tally.open_runs() if run.status == RUNNING]
        rows = leaderboard(self.state, self.estimator, TABLE_ROWS)
        kind = " (oracle)" if self.selection.oracle else ""
        best = f", best so far{kind} {rows[0]['config_id']} at {number(rows[0]['estimate'])}" if rows else ""
        lines: list[Text | Table] = [Text(self.headline() + best, style="bold")]
        if rows:
            finished = [
                any(run.finished for run in configuration.runs.values())
                for configuration in self.state.configurations.values()
            ]
            left = sum(finished) - len(rows)
            lines.append(as_table(rows, self.selection, width=self.console.width, most=TABLE_ROWS, left=left))
        if running:
            cells = [
                (Column("running"), self.named),
                (Column("seed"), lambda run: replicate_name(run.replicate)),
                (Column(" " * BAR_COLUMNS), lambda run: "━" * int(BAR_COLUMNS * run.step / (run.epochs or 1))),
                (Column("epoch", number=True), lambda run: str(run.step)),
                (Column("score", number=True), lambda run: number(self.selection.score(run.metrics))),
            ]
            lines.append(Table.of(cells, [running]))
        return Group(*lines)

    def headline(self) -> str:
        """Runs done out of the total, runs per minute, and time left."""
        done = self.state.tally.finished
        minutes = (time.monotonic() - self.started) / 60
        rate = (done - self.before) / minutes if minutes > 0 else 0.0
        parts = [self._count(done) + " runs"]
        if rate > 0:
            parts.append(f"{rate:.1f} runs/min")
            if self.total is not None:
                parts.append(f"about {duration(60 * (self.total - done) / rate, rough=True)} left")
        return ", ".join(parts)

    def _count(self, done: int) -> str:
        return f"{done}/{self.total}" if self.total is not None else str(done)
