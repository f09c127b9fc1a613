"""A search folder as pandas tables, for a notebook."""

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from seedwise.folder import BEST
from seedwise.search.export.best import content, ranking
from seedwise.search.ledger.state import State, read_search
from seedwise.search.ranking.leaderboard import flat
from seedwise.search.ranking.results import Results
from seedwise.search.spec.parts import results_of

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class LoadedSearch:
    """A search as its ledger stood when it was loaded; load it again to see what has come since.

    Columns: `params.NAME` is a parameter, `dev/macro_f1/LANGUAGE` a metric, `score` the one number that ranks.
    """

    folder: Path
    results: Results

    @property
    def state(self) -> State:
        return self.results.state

    @property
    def specification(self) -> dict:
        """The resolved specification, as it stands in search.yaml."""
        return self.state.specification

    @property
    def selection(self) -> str:
        """What ranks, in words; an oracle says so."""
        return self.results.selection.label

    @cached_property
    def leaderboard(self) -> "DataFrame":
        """One row per configuration and baseline, best first: the columns of leaderboard.csv."""
        from pandas import DataFrame

        columns, lines = flat(self.results.leaderboard)
        return DataFrame([[_known(cell) for cell in line] for line in lines], columns=columns)

    @cached_property
    def runs(self) -> "DataFrame":
        """One row per run, those that are under way too: status, seconds, error, score, parameters, last metrics.

        A run that failed has the score that it last reported, if any; in the leaderboard it counts as the lowest.
        """
        from pandas import DataFrame

        lines = []
        for run in self.state.runs():
            one = self.state.configurations[run.config_id]
            params = {f"params.{name}": value for name, value in one.params.items()}
            lines.append(
                {
                    **{name: getattr(run, name) for name in ("config_id", "replicate", "phase", "status")},
                    "baseline": one.baseline,
                    **{name: getattr(run, name) for name in ("seconds", "step", "error")},
                    "score": _known(self.results.selection.score(run.metrics)),
                    **params,
                    **run.metrics,
                }
            )
        return DataFrame(lines)

    @cached_property
    def steps(self) -> "DataFrame":
        """One row per step of every run: the metrics after it."""
        from pandas import DataFrame

        score = self.results.selection.score
        return DataFrame(
            [
                {
                    "config_id": run.config_id,
                    "replicate": run.replicate,
                    "step": step,
                    "score": _known(score(metrics)),
                    **metrics,
                }
                for run in self.state.runs()
                for step, metrics in sorted(run.steps.items())
            ]
        )

    @cached_property
    def best(self) -> dict | None:
        """What best.yaml says, or would say now; None before a run has finished."""
        if not self.results.leaderboard:
            return None
        best, *_ = ranking(self.results, str(self.folder))
        return content(self.results, best, self.folder / BEST)


def _known(value: object) -> object:
    """What is not known is nan: a column of None would not be one of numbers."""
    return math.nan if value is None else value


def load_search(folder: str | Path) -> LoadedSearch:
    """Read a search folder, which may be in the middle of a search."""
    folder = Path(folder)
    state = read_search(folder)
    with state.own_folder():
        return LoadedSearch(folder, results_of(state))
