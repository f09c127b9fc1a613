"""Searches side by side: what each has chosen, and for every pair whether the difference is more than seeds.

Searches with the same seed ran their replicates on the same random streams, so their scores are compared seed by seed;
others as two samples. Pure: states go in, rows and statements come out; `side_by_side.py` shows them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from pathlib import Path
from statistics import fmean

from seedwise.errors import RequestError
from seedwise.search.ledger.state import CONFIRM, SEARCH, State
from seedwise.search.ranking.baseline_scores import all_scores, varying
from seedwise.search.ranking.difference import Statement, statement
from seedwise.search.ranking.estimate import summary
from seedwise.search.ranking.leaderboard import best_baselines, chosen
from seedwise.search.ranking.results import Results
from seedwise.search.ranking.selection import Selection
from seedwise.text import short

USUAL = ("macro_f1", "accuracy")  # looked for where searches select by different metrics


@dataclass(frozen=True)
class Searched:
    """One search of a comparison. `name` must be its own among those compared."""

    name: str
    results: Results

    @property
    def state(self) -> State:
        return self.results.state

    @property
    def selection(self) -> Selection:
        return self.results.selection

    @property
    def specification(self) -> dict:
        return self.state.specification

    @property
    def title(self) -> str:
        return self.name + (" (oracle)" if self.selection.oracle else "")

    @property
    def rows(self) -> list[dict]:
        if not self.results.leaderboard:
            raise RequestError(self.name, "no run has finished yet", "Compare it when `status` shows one.")
        return self.results.leaderboard

    @cached_property
    def chosen(self) -> dict:
        return chosen(self.state, self.rows)

    @property
    def data(self) -> str:
        """What its labelled data are: their checksum, or the name of a hub data set; empty without a task."""
        task = self.specification.get("task") or {}
        return self.state.search.get("checksums", {}).get("task.data") or task.get("data") or ""

    def names(self, measure: "Measure") -> dict[str, str]:
        """Language -> the metric's full name, where the chosen configuration reports it. "" is a metric without one.

        Where all its runs have failed, what others of the search report counts: it has the lowest scores then.
        """
        runs = [run for run in self.state.runs_of(measure.phase) if run.finished]
        chosen = [run for run in runs if run.config_id == self.chosen["config_id"] and not run.failed]
        reported = {name for run in chosen or runs for name in run.metrics}
        if not measure.split:
            return {"": measure.metric} if measure.metric in reported else {}
        named = {
            language: f"{measure.split}/{measure.metric}/{language}"
            for language in (self.selection.source, *self.selection.targets)
        }
        return {language: name for language, name in named.items() if name in reported}

    def scores(self, config_id: str, name: str, phase: str) -> dict[int, float]:
        """Replicate -> score. A run that failed counts as in the leaderboard: as the lowest of its search."""
        by_name = Selection(name, "metric", "mean", "", ())
        found = all_scores(self.state, by_name, phase)
        return {replicate: score for replicate, score in found.get(config_id, {}).items() if score is not None}

    def failed(self, config_id: str, replicates: Iterable[int]) -> int:
        runs = self.state.configurations[config_id].runs
        return sum(runs[replicate].failed for replicate in replicates)


def compared_searches(results: dict[Path, Results]) -> list[Searched]:
    """The searches of these folders by name; where two have the same one, all are called by their folder."""
    names = [one.state.search["name"] for one in results.values()]
    alike = len(set(names)) < len(names)
    return [
        Searched(str(folder) if alike else name, one)
        for (folder, one), name in zip(results.items(), names, strict=True)
    ]


@dataclass(frozen=True)
class Measure:
    """What is compared: a metric on test sets, or on dev sets, at the replicates of a phase.

    `split` is empty for a metric of that very name, as methods without a task report them.
    """

    metric: str
    split: str
    phase: str

    @property
    def label(self) -> str:
        split = f" on {self.split}" if self.split else ""
        return f"{self.metric}{split}, {'fresh seeds' if self.phase == CONFIRM else 'seeds of the search'}"


def measure_of(searches: Sequence[Searched], *, shared: bool = False) -> Measure | None:
    """What all of them report: by the first one's metric if possible, on test sets of fresh seeds if possible.

    With `shared` it must be on a language that all have.
    """
    fresh = all(one.chosen["fresh"] for one in searches)
    for metric in dict.fromkeys([*(one.selection.metric for one in searches), *USUAL]):
        for split in ("test", "dev", "") if fresh else ("dev", ""):
            measure = Measure(metric, split, CONFIRM if fresh else SEARCH)
            names = [one.names(measure) for one in searches]
            if all(names) and (not shared or set.intersection(*map(set, names))):
                return measure
    return None


@dataclass(frozen=True)
class Pair:
    """Two searches: what they are compared by, what must be known about it, and a statement per language."""

    one: str
    other: str
    measure: Measure | None
    notes: list[str] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)


def pairs(searches: Sequence[Searched]) -> list[Pair]:
    """Every pair of searches, in the order they are given."""
    return [_pair(one, other) for one, other in combinations(searches, 2)]


def _pair(one: Searched, other: Searched) -> Pair:
    measure = measure_of([one, other], shared=True)
    if measure is None:
        because = "they report no metric that both have, on a language that both have"
        nothing = Statement(one.title, other.title, "", (0, 0), paired=False, because=because)
        return Pair(one.title, other.title, None, [], [nothing])
    notes, like = [], one.data == other.data
    seeds = [search.specification["seed"] for search in (one, other)]
    if not like:
        shown = " and ".join(search.data[:10] or "none" for search in (one, other))
        notes.append(f"task.data differ ({shown}): other files or other languages, no comparison of like with like")
    if seeds[0] != seeds[1]:
        notes.append(f"their search seeds differ ({seeds[0]} and {seeds[1]}), so no replicate is shared")
    if len(metrics := {search.selection.metric for search in (one, other)}) > 1 or measure.metric not in metrics:
        notes.append(f"they select by different metrics; {measure.metric} is one that both report")
    if measure.phase == SEARCH:
        notes.append("not all are confirmed: these are scores that the choice was made by, so each is optimistic")
    names = [search.names(measure) for search in (one, other)]
    shared = [language for language in names[0] if language in names[1]]
    targets = [name for name in shared if name in one.selection.targets and name in other.selection.targets]
    sets = {language: [language] for language in shared}
    sets |= {f"the mean of {len(targets)} targets": targets} if len(targets) > 1 else {}
    statements, paired = [], like and seeds[0] == seeds[1]
    for on, languages in sets.items():
        sides = [_means(search, measure, languages) for search in (one, other)]
        if paired:
            sides = [{replicate: side[replicate] for replicate in sides[0] if replicate in sides[1]} for side in sides]
        failed = sum(
            search.failed(search.chosen["config_id"], side) for search, side in zip((one, other), sides, strict=True)
        )
        statements.append(statement(one.title, other.title, on, *sides, paired=paired, failed=failed))
    return Pair(one.title, other.title, measure, notes, statements)


def _means(search: Searched, measure: Measure, languages: list[str]) -> dict[int, float]:
    """Replicate -> mean over languages, of the chosen configuration."""
    names, chosen = search.names(measure), search.chosen["config_id"]
    tables = [search.scores(chosen, names[language], measure.phase) for language in languages]
    return {replicate: fmean(table[replicate] for table in tables) for replicate in sorted(tables[0])}


@dataclass(frozen=True)
class Row:
    """A line of the table: a search's chosen configuration, or the best of one of its baselines."""

    name: str
    baseline: bool
    method: str
    selected_by: str
    config_id: str
    params: str
    n: int
    failed: int
    cells: dict[str, tuple[float, float | None]]  # language -> mean and sd, of the replicates of the measure's phase


def side_by_side(searches: Sequence[Searched]) -> tuple[Measure, list[Row]]:
    """The rows of the table, and what their cells measure: what all have, else the first one's own metric on dev."""
    measure = measure_of(searches) or Measure(searches[0].selection.metric, "dev", SEARCH)
    return measure, [row for search in searches for row in _rows(search, measure)]


def _rows(search: Searched, measure: Measure) -> list[Row]:
    names = search.names(measure)
    method = search.specification["method"]
    differ = varying([row["params"] for row in search.rows if not row["baseline"]])
    rows = []
    for row in (search.chosen, *best_baselines(search.rows)):
        config_id = row["config_id"]
        tables = {language: search.scores(config_id, name, measure.phase) for language, name in names.items()}
        shown = {language: summary(list(table.values())) for language, table in tables.items() if table}
        replicates = sorted({replicate for table in tables.values() for replicate in table})
        params = " ".join(short(name, row["params"][name]) for name in differ if name in row["params"])
        rows.append(
            Row(
                search.name,
                bool(row["baseline"]),
                method if isinstance(method, str) else method["trainable"],
                search.selection.label,
                config_id,
                f"baseline: {row['baseline']}" if row["baseline"] else params,
                len(replicates),
                search.failed(config_id, replicates),
                {language: (found.mean, found.sd) for language, found in shown.items()},
            )
        )
    return rows
