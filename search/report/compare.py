"""Compares searches in pairs: whether their chosen configurations differ by more than seeds do.

Searches with the same seed and the same data ran their replicates on the same random streams, so their scores are
compared seed by seed. Scores of other searches are compared as two samples.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import fmean

from seedwise.errors import RequestError
from seedwise.search.ledger.state import CONFIRM, SEARCH
from seedwise.search.ranking.difference import Statement, statement
from seedwise.search.ranking.results import Results
from seedwise.search.ranking.selection import Selection
from seedwise.trainables.tasks.classification import METRICS


@dataclass(frozen=True)
class Side:
    """A configuration in a comparison: its `title` in sentences, its scores by replicate, and its failed replicates."""

    title: str
    scores: dict[int, float]
    failed: set[int]
    bounds: tuple[float, float]  # of the scores

    @classmethod
    def of(cls, title: str, results: Results, config_id: str, phase: str, selections: Sequence[Selection]) -> "Side":
        """Average several scores, at each replicate of a phase that has all of them.

        A run without one of the scores counts as in the leaderboard.
        """
        tables = [results.scores(phase, selection).get(config_id, {}) for selection in selections]
        known = [number for number in tables[0] if all(table.get(number) is not None for table in tables)]
        runs = results.state.configurations[config_id].runs
        failed = {
            number for number in known if any(results.lacks_score(runs[number], selection) for selection in selections)
        }
        return cls(
            title,
            {number: fmean(table[number] for table in tables) for number in sorted(known)},
            failed,
            selections[0].bounds,
        )

    def against(self, other: "Side", on: str = "", *, paired: bool) -> Statement:
        """State the difference between two sides. `paired` sides are compared at the replicates that both have."""
        shared = self.scores.keys() & other.scores.keys()
        sides = [
            {number: score for number, score in side.scores.items() if number in shared or not paired}
            for side in (self, other)
        ]
        failed = sum(len(side.failed & scores.keys()) for side, scores in zip((self, other), sides, strict=True))
        return statement(self.title, other.title, on, *sides, paired=paired, failed=failed, bounds=self.bounds)


def by_metric(name: str) -> Selection:
    """A selection whose score is one metric, given by its full name."""
    return Selection(name, "metric", "mean", "", ())


@dataclass(frozen=True)
class ComparedSearch:
    """A search under a `name` that no other search of the comparison has."""

    name: str
    results: Results

    @property
    def title(self) -> str:
        return self.name + (" (oracle)" if self.results.selection.oracle else "")

    @property
    def chosen(self) -> str:
        return self.results.chosen["config_id"]

    @property
    def method(self) -> str:
        method = self.results.state.method
        return method if isinstance(method, str) else method["trainable"]

    @property
    def data(self) -> str:
        """The checksum of the labelled data, or the name of a hub data set; empty without a task."""
        state = self.results.state
        task = state.specification.get("task") or {}
        return state.search.get("checksums", {}).get("task.data") or task.get("data") or ""

    def metrics(self, measure: "Measure") -> dict[str, Selection]:
        """Map each language on which the chosen configuration reports the measure to its score.

        A metric without a language is under "". If all runs of the chosen configuration failed, these are the languages
        that other configurations report, and the chosen configuration has the scores that failed runs count as.
        """
        runs = [run for run in self.results.state.runs_of(measure.phase) if run.finished]
        chosen = [run for run in runs if run.config_id == self.chosen and not run.failed]
        names = {"": measure.metric}
        if measure.split:
            selection = self.results.selection
            languages = (selection.source, *selection.targets)
            names = {language: f"{measure.split}/{measure.metric}/{language}" for language in languages}
        reported = {name for run in chosen or runs for name in run.metrics}
        return {language: by_metric(name) for language, name in names.items() if name in reported}


def compared_searches(folders: dict[Path, Results]) -> list[ComparedSearch]:
    """The searches of these folders. Each has its own name or, if two share a name, the path of its folder."""
    names = [results.state.search["name"] for results in folders.values()]
    if len(set(names)) < len(names):
        names = list(map(str, folders))
    for name, results in zip(names, folders.values(), strict=True):
        if not results.ranked:
            raise RequestError(name, "no run has finished yet", "Compare it when `status` shows one.")
    return list(map(ComparedSearch, names, folders.values()))


@dataclass(frozen=True)
class Measure:
    """The score of a comparison: a metric on test sets or dev sets, at the replicates of a phase.

    `split` is empty for a metric whose whole name is `metric`, as methods without a task report it.
    """

    metric: str
    split: str
    phase: str

    @property
    def label(self) -> str:
        split = f" on {self.split}" if self.split else ""
        return f"{self.metric}{split}, {'fresh seeds' if self.phase == CONFIRM else 'seeds of the search'}"


def common_measure(searches: Sequence[ComparedSearch], *, shared: bool = False) -> Measure | None:
    """A measure that all searches report: preferably the first search's metric, on test sets of fresh seeds.

    With `shared`, the searches must also share a language with this measure.
    """
    fresh = all(search.results.chosen["fresh"] for search in searches)
    for metric in dict.fromkeys([*(search.results.selection.metric for search in searches), *METRICS]):
        for split in ("test", "dev", "") if fresh else ("dev", ""):
            measure = Measure(metric, split, CONFIRM if fresh else SEARCH)
            languages = [search.metrics(measure).keys() for search in searches]
            if all(languages) and (not shared or set.intersection(*map(set, languages))):
                return measure
    return None


@dataclass(frozen=True)
class Pair:
    """Two searches: the measure that compares them, notes on its limits, and a statement per language."""

    title: str
    measure: Measure | None
    notes: list[str]
    statements: list[Statement]


def pairs(searches: Sequence[ComparedSearch]) -> list[Pair]:
    """Every pair of searches, in the order they are given."""
    return [_pair(first, second) for first, second in combinations(searches, 2)]


def _pair(first: ComparedSearch, second: ComparedSearch) -> Pair:
    both, title = (first, second), f"{first.title} and {second.title}"
    measure = common_measure(both, shared=True)
    if measure is None:
        because = "they report no common metric on a common language"
        unsaid = Statement(first.title, second.title, "", (0, 0), paired=False, because=because)
        return Pair(title, None, [], [unsaid])
    notes, same_data = [], first.data == second.data
    seeds = [search.results.state.specification["seed"] for search in both]
    if not same_data:
        data = " and ".join(search.data[:10] or "none" for search in both)
        notes.append(f"task.data differ ({data}): other files or other languages, so not like for like")
    if seeds[0] != seeds[1]:
        notes.append(f"their search seeds differ ({seeds[0]} and {seeds[1]}), so no replicate is shared")
    if {search.results.selection.metric for search in both} != {measure.metric}:
        notes.append(f"they select by different metrics; both report {measure.metric}")
    if measure.phase == SEARCH:
        notes.append("not all are confirmed: these scores made the choice, so they are optimistic")
    metrics_of = [search.metrics(measure) for search in both]
    languages = [language for language in metrics_of[0] if language in metrics_of[1]]
    targets = [name for name in languages if all(name in search.results.selection.targets for search in both)]
    means = {language: [language] for language in languages}
    means |= {f"the mean of {len(targets)} targets": targets} if len(targets) > 1 else {}
    paired, statements = same_data and seeds[0] == seeds[1], []
    for on, averaged in means.items():
        side, other_side = (
            Side.of(
                search.title, search.results, search.chosen, measure.phase, [metrics[language] for language in averaged]
            )
            for search, metrics in zip(both, metrics_of, strict=True)
        )
        statements.append(side.against(other_side, on, paired=paired))
    return Pair(title, measure, notes, statements)
