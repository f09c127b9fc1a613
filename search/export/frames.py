"""A search folder as pandas tables, for notebooks."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from seedwise.folder import BEST
from seedwise.search.export.best import content, ranking
from seedwise.search.ledger.file import read_search
from seedwise.search.ledger.state import State
from seedwise.search.ranking.by_language import with_means
from seedwise.search.ranking.leaderboard import flat
from seedwise.search.ranking.results import Results
from seedwise.search.spec.load import recorded

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class LoadedSearch:
    """A search in the state of its ledger when it was loaded. Load it again to see newer results.

    Columns: `params.NAME` is a parameter, `dev/macro_f1/LANGUAGE` a metric, `score` the number that ranks. A mean over
    seeds has its standard deviation in `_sd` and the number of seeds in `_n`. `dev/macro_f1/mean_targets` is the mean
    over the target languages, `mean_all` the mean over source and targets.
    """

    folder: Path
    results: Results

    @property
    def state(self) -> State:
        return self.results.state

    @property
    def specification(self) -> dict:
        """The resolved specification, as in search.yaml."""
        return self.state.specification

    @property
    def selection(self) -> str:
        """The name of the score that ranks. It says so if it is an oracle."""
        return self.results.selection.label

    @cached_property
    def leaderboard(self) -> "DataFrame":
        """One row per configuration and baseline, best first, with the columns of leaderboard.csv."""
        columns, lines = flat(self.results.leaderboard)
        return _table((dict(zip(columns, line, strict=True)) for line in lines), columns)

    @cached_property
    def runs(self) -> "DataFrame":
        """One row per run, including running ones: status, seconds, error, score, parameters, last metrics.

        A failed run has the score that it last reported, if any. In the leaderboard it counts as `worst_of` says.
        """
        configurations = self.state.configurations
        return _table(
            {name: getattr(run, name) for name in ("config_id", "replicate", "phase", "status")}
            | {"baseline": configurations[run.config_id].baseline}
            | {name: getattr(run, name) for name in ("seconds", "step", "error")}
            | {"score": self.results.selection.score(run.metrics)}
            | {f"params.{name}": value for name, value in configurations[run.config_id].params.items()}
            | with_means(run.metrics, self.results.selection)
            for run in self.state.runs()
        )

    @cached_property
    def steps(self) -> "DataFrame":
        """One row per step of every run, with the metrics after the step."""
        score = self.results.selection.score
        return _table(
            {"config_id": run.config_id, "replicate": run.replicate, "step": step, "score": score(metrics), **metrics}
            for run in self.state.runs()
            for step, metrics in sorted(run.steps.items())
        )

    @cached_property
    def best(self) -> dict | None:
        """The content that best.yaml would have now; None until a run has finished."""
        if not self.results.leaderboard:
            return None
        return content(self.results, ranking(self.results, str(self.folder))[0], self.folder / BEST)


def _table(rows: Iterable[dict], columns: list[str] | None = None) -> "DataFrame":
    """A table with nan instead of None, so that columns with missing values stay numeric."""
    from pandas import DataFrame

    known = [{name: math.nan if cell is None else cell for name, cell in row.items()} for row in rows]
    return DataFrame(known, columns=columns)


def load_search(folder: str | Path) -> LoadedSearch:
    """Load a search folder; the search may still be running."""
    folder = Path(folder)
    state = read_search(folder)
    with state.own_folder():
        return LoadedSearch(folder, recorded(state).parts.results(state))
