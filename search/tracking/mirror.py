"""What the ledger says, as MLflow would hold it: three levels of runs, and what each of them still lacks.

Nothing here knows MLflow: events go in, names, tags, parameters and points come out, always the same ones for the same
ledger, with the ledger's own times. So writing them a second time is writing the same rows, and an outage or a kill
costs nothing but time.
"""

import json
import math
import posixpath
import re
from dataclasses import dataclass, field
from statistics import fmean
from typing import NamedTuple

from seedwise.credentials import mask
from seedwise.folder import BEST, REPORT, SPECIFICATION
from seedwise.search.decide.policy import FRESH
from seedwise.search.ledger.state import CONFIRM, DONE, SEARCH, Run, State
from seedwise.search.ranking.baseline_scores import title
from seedwise.search.ranking.estimate import Summary, summary
from seedwise.search.ranking.selection import Selection
from seedwise.search.tracking.description import description, replicated
from seedwise.search.tracking.scores import Scores
from seedwise.text import short

Key = tuple[str | int, ...]  # () is the search, (config_id,) a configuration, (config_id, replicate) a run
LEVELS = ("search", "configuration", "run")  # by the length of the key; the parent of a key is key[:-1]
TOP: Key = ()  # of the search itself
SCORE, FRESH_SCORE = (
    "score",
    "fresh_score",
)  # the metric that all three levels have, so that the UI can sort any of them by it
LONGEST_NAME, LONGEST_PARAMETER, LONGEST_TAG = 250, 6000, 8000  # MLflow's limits
DIGEST = 16  # letters of a SHA-256 that tell files apart; MLflow takes 36
NOTE = "mlflow.note.content"  # the tag that MLflow shows as a run's description, in Markdown
RESULTS = (BEST, "leaderboard.json", "leaderboard.csv", REPORT)  # there once the ledger says `end`


class Point(NamedTuple):
    """One value of one metric; `moment` in milliseconds."""

    name: str
    value: float
    moment: int
    step: int


class Dataset(NamedTuple):
    """A file or folder that a search reads: the specification's key, its path, and the start of its SHA-256."""

    key: str
    path: str
    digest: str


@dataclass
class Identity:
    """What an MLflow run is created with."""

    name: str
    start: int
    tags: dict[str, str]
    params: dict[str, str]
    datasets: list[Dataset] = field(default_factory=list)


@dataclass
class Entry:
    """What one MLflow run still lacks. `opening` asks for its parameters too."""

    opening: bool = False
    tags: dict[str, str] = field(default_factory=dict)
    points: list[Point] = field(default_factory=list)


class Mirror:
    """The MLflow runs of one search. `pending`, `files` and `drawn` are not written yet; the writer empties them."""

    def __init__(self) -> None:
        self.state = State()
        self.lines = 0
        self.identities: dict[Key, Identity] = {}
        self.pending: dict[Key, Entry] = {}
        self.files: list[str] = []
        self.drawn: list[Key] = []  # runs that may have pictures
        self._selection: Selection
        self._revision = ""
        self._moment = 0  # of the last event, in milliseconds
        self._touched: dict[Key, int] = {}  # when anything last happened to a run, or below it
        self._steps: dict[Key, dict[int, dict]] = {}
        self._scores: Scores
        self._best = ""
        self._names: dict[str, str] = {}  # of configurations, and who has it

    def take(self, events: list[dict], known: int = 0) -> None:
        """Take in new events. The first `known` of them are in MLflow already and leave nothing pending."""
        for event in events[:known]:
            self._take(event)
        if known:
            self.pending.clear()
            self.files.clear()
            self.drawn.clear()
        for event in events[known:]:
            self._take(event)

    @property
    def position(self) -> str:
        """How far the ledger was read. The time guards against a ledger that was cut by hand and grew again."""
        return f"{self.lines} lines until {self.state.last_time}"

    def status(self, key: Key, *, last: bool) -> tuple[str, int]:
        """MLflow's status of a run and when it was reached. `last` says that nobody works on this search any more."""
        over, moment = last or bool(self.state.finished), self._touched[key]
        if key == TOP:
            return ("FINISHED" if self.state.finished else "KILLED" if last else "RUNNING"), moment
        runs = list(self.state.configurations[key[0]].runs.values())
        if len(key) == 2:
            runs = [self._run(key)]
        elif not over:
            return "RUNNING", moment  # a further replicate may come at any time
        if not runs or not all(run.finished for run in runs):
            return ("KILLED" if over else "RUNNING"), moment
        return ("FAILED" if all(run.failed for run in runs) else "FINISHED"), moment

    def _take(self, event: dict) -> None:
        """Of two values at one step MLflow shows the later one, so no two events may share a millisecond."""
        self.state.apply(event)
        self.lines += 1
        self._moment = max(round(event["time"] * 1000), self._moment + 1)
        key = tuple(event[name] for name in ("config_id", "replicate") if name in event)
        for depth in range(len(key) + 1):
            self._touched[key[:depth]] = self._moment
        match event["event"]:
            case "search":
                self._search(event)
            case "ask":
                tags = {name: event[name] for name in ("vary",) if event.get(name)}
                tags |= {name: event["params"][name] for name in ("baseline",) if name in event["params"]}
                self._open(key, self._named(event["params"], event["config_id"]), _texts(event["params"]), **tags)
            case "start":
                which = event["replicate"]
                seed = f"fresh replicate {which - FRESH}" if event["phase"] == CONFIRM else f"replicate {which}"
                above = self.identities[key[:1]]
                # The box plot of MLflow's comparison groups by a parameter: this one shows the replicates of each.
                params = {"configuration": above.name, **above.params}
                self._open(key, f"{above.name}, {seed}", params, phase=event["phase"])
            case "step":
                self._step(key, event["metrics"])
            case "result":
                self._step(key, event["metrics"])
                self._outcome(key)
                self._aggregate(self._run(key))
            case "freeze":
                self._freeze(event)
            case "end":
                decomposed = self.state.search["specification"].get("decompose")
                skipped = [BEST, REPORT] if decomposed else []
                self.files += [name for name in event.get("files", RESULTS) if name not in (*self.files, *skipped)]
                self._entry(TOP).tags["ended"] = event["because"]
                self._describe()

    def _search(self, event: dict) -> None:
        """Parameters cannot change in MLflow, so they stay those of the first session; a resume only changes tags."""
        self._revision = event.get("revision", "")
        specification = self.state.search["specification"]
        if TOP not in self.identities:
            self._selection = Selection.of(specification)
            self._scores = Scores(self.state, self._selection)
        self._open(TOP, event["name"], _texts(_flat(specification)))
        self._entry(TOP).tags |= {
            "sessions": str(self.state.sessions),
            "command": mask(event.get("command", ""))[:LONGEST_TAG],
        }
        self._describe()
        self.files.append(SPECIFICATION)

    def _named(self, params: dict, config_id: str) -> str:
        """A configuration in words: what a person searched over, as `k=50 softmax tau=0.2`.

        Rounding may give two the same words: the second one has its id, too.
        """
        kind = params.get("baseline", "")
        searched = self.state.search.get("searched", {}).get(kind, ())
        words = [title(params)] if kind else []
        name = " ".join([*words, *(short(name, params[name]) for name in searched if name in params)])
        if not name or self._names.setdefault(name, config_id) != config_id:
            return f"{name} {config_id}".strip()
        return name

    def _describe(self) -> None:
        names = {key[0]: identity.name for key, identity in self.identities.items() if len(key) == 1}
        self._entry(TOP).tags[NOTE] = mask(description(self.state, self._selection, names))[:LONGEST_TAG]

    def _freeze(self, event: dict) -> None:
        """The search phase is over: how every configuration stood, and which ones are confirmed."""
        self._entry(TOP).tags |= {"stopped": event["because"], "frozen": ", ".join(event["configs"])}
        estimates = event.get("estimates", {})
        if not replicated(self.state, self._selection):  # one seed each tells nothing of the best
            estimates = {key: {**values, "p_best": None} for key, values in estimates.items()}
        chosen = next(iter([*event["configs"], *estimates]), "")
        if chosen in self._scores.summaries:
            self._choose(chosen)
        for config_id, values in estimates.items():
            step = sum(map(len, self._scores.rows.get(config_id, ())))
            self._entry((config_id,)).points += _points(values, self._moment, step)
        self._describe()

    def _open(self, key: Key, name: str, params: dict[str, str], **tags: str) -> None:
        """A run begins, or goes on after an interruption: the same MLflow run then, tagged with its latest code."""
        entry = self._entry(key)
        entry.opening = True
        if key in self.identities:
            entry.tags["revision"] = self._revision
            return
        method = self.state.search["specification"].get("method", "")
        tags |= dict(zip(("config_id", "replicate"), map(str, key), strict=False))
        tags |= {
            "seedwise.search_id": self.state.search["search_id"],
            "level": LEVELS[len(key)],
            "method": method["trainable"] if isinstance(method, dict) else method,
            "revision": self._revision,
            "selection": self._selection.label,
            **({"oracle": "true"} if self._selection.oracle else {}),
        }
        datasets = _datasets(self.state.search) if len(key) < 2 else []
        self.identities[key] = Identity(name[:LONGEST_NAME], self._moment, tags, params, datasets)

    def _step(self, key: Key, metrics: dict[str, float]) -> None:
        """A run that began again after an interruption repeats its first steps: the same values are not news."""
        step, seen = self._run(key).step, self._steps.setdefault(key, {})
        if seen.get(step) == metrics:
            return
        seen[step] = metrics
        own = {SCORE: self._selection.score(metrics)}
        self._entry(key).points += _points({**metrics, **own}, self._moment, step)

    def _outcome(self, key: Key) -> None:
        run, entry = self._run(key), self._entry(key)
        self._steps.pop(key)
        self.drawn += [key] if run.phase == CONFIRM and run.status == DONE else []
        entry.points += _points({"seconds": run.seconds}, self._moment, run.step)
        if run.same_as:
            entry.tags["same_as"] = run.same_as
        if run.status != DONE:
            entry.tags["status"] = run.status
        if run.failed:
            entry.tags |= {"failure": run.status.partition(":")[2], "error": mask(run.error)[:LONGEST_TAG]}

    def _aggregate(self, run: Run) -> None:
        """Mean, spread and interval over replicates, for every configuration whose scores a result changed."""
        for config_id in self._scores.add(run):
            one, rows = self.state.configurations[config_id], self._scores.rows[config_id]
            points: dict[str, float | None] = {}
            for name, phase, row in zip((SCORE, FRESH_SCORE), (SEARCH, CONFIRM), rows, strict=True):
                if row:
                    reported = [score for score in row.values() if score is not None]
                    points |= _of_score(summary(reported), name) if reported else {}
                    means = _means([run.metrics for run in one.of_phase(phase) if run.finished])
                    points |= {key: mean for key, mean in means.items() if phase == SEARCH or key.startswith("test/")}
            self._entry((config_id,)).points += _points(points, self._moment, sum(map(len, rows)))
        if self._scores.summaries and not self.state.stopped:  # afterwards the choice stands
            self._choose(self._scores.best)
        elif fresh := self._scores.rows.get(self._best, ({}, {}))[1]:
            confirmed = _of_score(summary(list(fresh.values())), FRESH_SCORE)
            self._entry(TOP).points += _points(confirmed, self._moment, len(fresh))

    def _choose(self, best: str) -> None:
        """The search shows the score of the best so far, and from the freeze on that of the one that was chosen."""
        entry = self._entry(TOP)
        entry.points += _points(_of_score(self._scores.summaries[best]), self._moment, self._scores.count)
        if best != self._best:
            self._best = entry.tags["best_config_id"] = best

    def _run(self, key: Key) -> Run:
        return self.state.configurations[key[0]].runs[key[1]]

    def _entry(self, key: Key) -> Entry:
        return self.pending.setdefault(key, Entry())


def _datasets(search: dict) -> list[Dataset]:
    """What the search reads, as far as it has a checksum: the folder or file of every key."""
    found = []
    for key, digest in search.get("checksums", {}).items():
        place = search["specification"]
        for part in key.split("."):
            if not isinstance(place, dict):
                break  # one path with {language} in it, for all of them
            place = place.get(part)
        if place and key != "model":
            found.append(Dataset(_name(key), str(place), digest[:DIGEST]))
    return found


def _points(metrics: dict[str, float | None], moment: int, step: int) -> list[Point]:
    """Only finite numbers: MLflow keeps an infinity as 1.8e308, which ruins every chart that it is in."""
    return [
        Point(_name(name), float(value), moment, step)
        for name, value in metrics.items()
        if value is not None and math.isfinite(value)
    ]


def _means(metrics: list[dict[str, float]]) -> dict[str, float]:
    """Per language, over the replicates that reported it."""
    values: dict[str, list[float]] = {}
    for name, value in (item for of_run in metrics for item in of_run.items()):
        values.setdefault(name, []).append(value)
    return {name: fmean(of_name) for name, of_name in values.items()}


def _of_score(of: Summary, name: str = SCORE) -> dict[str, float | None]:
    return {name: of.mean, f"{name}_sd": of.sd, f"{name}_ci_low": of.ci_low, f"{name}_ci_high": of.ci_high}


def _flat(tree: dict, prefix: str = "") -> dict:
    """`{"budget": {"runs": 60}}` as `{"budget.runs": 60}`; lists stay whole."""
    leaves: dict = {}
    for name, value in tree.items():
        leaves |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) and value else {f"{prefix}{name}": value}
    return leaves


def _texts(values: dict) -> dict[str, str]:
    """Parameters as MLflow takes them."""
    texts = {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for name, value in values.items()
    }
    return {_name(name): mask(text)[:LONGEST_PARAMETER] for name, text in texts.items()}


def _name(text: str) -> str:
    """A name that MLflow accepts: its letters only, and nothing that would be another path."""
    return posixpath.normpath(re.sub(r"[^\w\-. :/]", "_", text)).lstrip("./")[:LONGEST_NAME] or "_"
