"""Counts over all runs of a search, kept as its ledger grows: what a decision costs must not grow with what has run."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seedwise.search.ledger.state import Configuration, Run


@dataclass
class Tally:
    """What is asked of all configurations again and again. `State.apply` notes every line; nobody else does.

    A run without a result is open, whether it runs, was interrupted or waits: there are about as many of them as slots.
    """

    started: Counter[str] = field(default_factory=Counter)  # runs by phase, open ones included
    finished: int = 0  # runs that have a result
    pruned: int = 0  # configurations that were
    pruned_runs: int = 0  # all runs of those
    _places: dict[str, int] = field(default_factory=dict)  # of configurations, in the order they were asked
    _open: dict[str, "Configuration"] = field(default_factory=dict)  # those with an open run, or with none at all
    _short: dict[int, dict[str, "Configuration"]] = field(default_factory=dict)  # by free replicate, but the pruned
    _noted: dict[str, tuple] = field(default_factory=dict)  # what each configuration counts for

    def note(self, configuration: "Configuration") -> None:
        """Count a configuration anew, after a line about it: the lines before may have said less."""
        key, runs = configuration.config_id, configuration.runs.values()
        finished, pruned = sum(run.finished for run in runs), configuration.pruned
        before = self._noted.get(key, (Counter(), 0, False, 0, None))
        now = (
            Counter(run.phase for run in runs),
            finished,
            pruned,
            len(runs) if pruned else 0,
            None if pruned else free_replicate(configuration),
        )
        self._places.setdefault(key, len(self._places))
        self._noted[key] = now
        self.started.update(now[0])
        self.started.subtract(before[0])
        self.finished += now[1] - before[1]
        self.pruned += now[2] - before[2]
        self.pruned_runs += now[3] - before[3]
        self._short.get(before[4], {}).pop(key, None)
        if not pruned:
            self._short.setdefault(now[4], {})[key] = configuration
        self._open.pop(key, None)
        if finished < len(runs) or not runs:
            self._open[key] = configuration

    def open_runs(self) -> list["Run"]:
        """The runs without a result, in the order of `State.runs`."""
        return [run for one in self._in_order(self._open.values()) for run in one.runs.values() if not run.finished]

    def unstarted(self) -> list["Configuration"]:
        """The configurations that were asked for and have no run, in the order they were asked."""
        return [one for one in self._in_order(self._open.values()) if not one.runs]

    def short_of(self, replicates: int) -> list["Configuration"]:
        """Those that were not started at every replicate below `replicates`, but the pruned, in the order of asking."""
        return self._in_order(one for free, some in self._short.items() if free < replicates for one in some.values())

    def _in_order(self, configurations: Iterable["Configuration"]) -> list["Configuration"]:
        return sorted(configurations, key=lambda one: self._places[one.config_id])


def free_replicate(configuration: "Configuration") -> int:
    """The lowest replicate that a configuration has not been started at."""
    replicate = 0
    while replicate in configuration.runs:
        replicate += 1
    return replicate
