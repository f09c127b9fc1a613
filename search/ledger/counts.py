"""Counts over all runs, updated with every line of the ledger, so that decisions stay fast in long searches."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seedwise.search.ledger.state import Configuration, Run


@dataclass
class Tally:
    """Counts over all configurations, for decisions. Only `State.apply` updates them, with every line of the ledger.

    A run without a result is open: running, interrupted or waiting. There are about as many open runs as slots.
    """

    started: Counter[str] = field(default_factory=Counter)  # runs by phase, open runs included
    finished: int = 0  # runs that have a result
    pruned: int = 0  # configurations that were pruned
    pruned_runs: int = 0  # all runs of pruned configurations
    _counted: dict[str, tuple] = field(default_factory=dict)  # what each configuration adds to the counts
    _order: dict[str, int] = field(default_factory=dict)  # rank of each configuration in the order of proposal
    _open: dict[str, "Configuration"] = field(default_factory=dict)  # configurations with an open run, or without runs
    _free: dict[str, int] = field(default_factory=dict)  # free replicate of each configuration that was not pruned
    _by_free: dict[int, dict[str, "Configuration"]] = field(default_factory=dict)

    def update(self, configuration: "Configuration") -> None:
        """Recount a configuration after a line of the ledger about it."""
        key, runs, pruned = configuration.config_id, configuration.runs.values(), configuration.pruned
        self._order.setdefault(key, len(self._order))
        finished = sum(run.finished for run in runs)
        now = Counter(run.phase for run in runs), finished, pruned, len(runs) if pruned else 0
        before = self._counted.get(key, (Counter(), 0, 0, 0))
        self._counted[key] = now
        self.started.update(now[0])
        self.started.subtract(before[0])
        self.finished += now[1] - before[1]
        self.pruned += now[2] - before[2]
        self.pruned_runs += now[3] - before[3]
        self._by_free.get(self._free.pop(key, None), {}).pop(key, None)
        if not pruned:
            self._free[key] = free = free_replicate(configuration)
            self._by_free.setdefault(free, {})[key] = configuration
        self._open.pop(key, None)
        if finished < len(runs) or not runs:
            self._open[key] = configuration

    def open_runs(self) -> list["Run"]:
        """The runs without a result, in the order of `State.runs`."""
        configurations = self._in_order(self._open.values())
        return [run for configuration in configurations for run in configuration.runs.values() if not run.finished]

    def unstarted(self) -> list["Configuration"]:
        """The configurations without any run, in the order of proposal."""
        return [configuration for configuration in self._in_order(self._open.values()) if not configuration.runs]

    def short_of(self, replicates: int) -> list["Configuration"]:
        """The configurations that are not pruned and lack a replicate below `replicates`, in the order of proposal."""
        short = (group.values() for free, group in self._by_free.items() if free < replicates)
        return self._in_order(configuration for group in short for configuration in group)

    def _in_order(self, configurations: Iterable["Configuration"]) -> list["Configuration"]:
        return sorted(configurations, key=lambda configuration: self._order[configuration.config_id])


def free_replicate(configuration: "Configuration") -> int:
    """The lowest replicate at which a configuration has not been started."""
    return next(replicate for replicate in count() if replicate not in configuration.runs)
