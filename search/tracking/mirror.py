"""Turns the ledger into what trackers store: nodes on three levels, and updates of nodes.

It takes events and returns names, tags, parameters and points. These, including their times, depend on the ledger
alone, so writing them twice has the same effect as writing them once, and an outage or a kill costs only time.
"""

import json
import math
from collections import defaultdict
from collections.abc import Sequence

from seedwise.credentials import mask
from seedwise.folder import BEST, LEADERBOARD, LEADERBOARD_CSV, REPORT, SPECIFICATION
from seedwise.search.decide.policy import run_name
from seedwise.search.ledger.state import CONFIRM, DONE, INTERRUPTED, RUNNING, SEARCH, Run, State
from seedwise.search.ranking import decomposition
from seedwise.search.ranking.baseline_scores import title
from seedwise.search.ranking.by_language import SCORE, Pools, flat, per_language, with_means
from seedwise.search.ranking.estimator import Estimator
from seedwise.search.ranking.leaderboard import single_class
from seedwise.search.ranking.results import Results
from seedwise.search.ranking.run_scores import counts, known
from seedwise.search.ranking.selection import Selection
from seedwise.search.ranking.summary import Summary, summary
from seedwise.search.tracking.description import description
from seedwise.search.tracking.scores import Scores
from seedwise.search.tracking.sink import FAILED, TOP, Input, Key, Node, Point, Update
from seedwise.text import short

FRESH_SCORE = "fresh_score"  # a metric on all three levels, as `SCORE` is, for sorting in trackers
SCORES = {SCORE: SEARCH, FRESH_SCORE: CONFIRM}  # the phase of each
DESCRIPTION = "description"  # tag of the search: its description in Markdown
RESULTS = (BEST, LEADERBOARD, LEADERBOARD_CSV, REPORT)  # these files exist once the ledger has an `end` event


class Mirror:
    """The nodes of one search, up to the last line that was read."""

    def __init__(self) -> None:
        self.state = State()
        self.lines = 0
        self.nodes: dict[Key, Node] = {}
        self._tags: dict[Key, dict[str, str]] = {}  # new since the start of `take`
        self._points: dict[Key, list[Point]] = {}
        self._files: list[Update] = []  # sent after all other updates, which are small requests
        self._revision = ""
        self._moment = 0  # of the last event, in milliseconds
        self._touched: dict[Key, int] = {}  # the last event of a node or below it, in milliseconds
        self._steps: dict[Key, dict[int, dict]] = {}
        self._best = ""
        self._shown: set[str] = set()  # metrics of the best on the search
        self._names: dict[str, str] = {}  # name of a configuration -> its id
        self._decomposition: dict[str, float] = {}  # as last added

    def take(self, events: list[dict], *, last: bool = False) -> list[Update]:
        """Read new events. Returns the updates that they cause. `last`: no process runs the search any more."""
        self._tags, self._points, self._files = defaultdict(dict), defaultdict(list), []
        for event in events:
            self._take(event)
        over = last or bool(events and self.state.finished)
        keys = dict.fromkeys([*self._tags, *self._points, *(self.nodes if over else ())])
        return [Update(key, self._tags[key], self._points[key], *self._status(key, over)) for key in keys] + self._files

    @property
    def position(self) -> str:
        """The position in the ledger. Its time reveals a ledger that was cut by hand and grew again."""
        return f"{self.lines} lines until {self.state.last_time}"

    def _status(self, key: Key, over: bool) -> tuple[str, int]:
        moment, unfinished = self._touched[key], INTERRUPTED if over else RUNNING
        if key == TOP:
            return (DONE if self.state.finished else unfinished), moment
        runs = [self._run(key)] if len(key) == 2 else self.state.configurations[key[0]].runs.values()
        if not runs or not all(run.finished for run in runs) or (len(key) == 1 and not over):
            return unfinished, moment  # another replicate may start at any time
        return (FAILED if all(run.failed for run in runs) else DONE), moment

    def _take(self, event: dict) -> None:
        """Apply an event. No two events share a millisecond, since trackers show the later of two values at a step."""
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
                params = event["params"]
                tags = {"vary": event.get("vary"), "baseline": params.get("baseline")}
                tags = {name: value for name, value in tags.items() if value}
                self._open(key, self._named(params, event["config_id"]), _texts(params), **tags)
            case "start":
                above = self.nodes[key[:1]]
                # A box plot groups by a parameter: `configuration` groups the replicates of each configuration.
                params = {"configuration": above.name, **above.params}
                self._open(key, run_name(above.name, event["replicate"]), params, phase=event["phase"])
            case "step":
                self._step(key, event["metrics"])
            case "result":
                self._step(key, event["metrics"])
                self._outcome(key)
                self._aggregate(self._run(key))
                if self.state.specification.get("decompose"):
                    self._decompose()
            case "freeze":
                self._freeze(event)
            case "end":
                self._files.append(Update(TOP, files=event.get("files", RESULTS)))
                self._tags[TOP]["ended"] = event["because"]
                self._intervals(CONFIRM if self.state.frozen else SEARCH)
                self._describe()

    def _search(self, event: dict) -> None:
        """Open the search. Its parameters are those of the first session; a resume changes only tags."""
        self._revision = event.get("revision", "")
        specification = self.state.specification
        if TOP not in self.nodes:
            self._selection = Selection.from_specification(specification)
            self._scores = Scores(self.state, self._selection)
        self._open(TOP, event["name"], _texts(_flat(specification)))
        self._tags[TOP].update(sessions=str(self.state.sessions), command=mask(event.get("command", "")))
        self._describe()
        self._files.append(Update(TOP, files=[SPECIFICATION]))

    def _named(self, params: dict, config_id: str) -> str:
        """The name of a configuration, from the searched parameters, such as `k=50 softmax tau=0.2`.

        Rounding may give two configurations the same name; then the id of the second is added to its name.
        """
        kind = params.get("baseline", "")
        searched = self.state.search.get("searched", {}).get(kind, ())
        words = [title(self.state.method, params)] if kind else []
        name = " ".join([*words, *(short(name, params[name]) for name in searched if name in params)])
        if not name or self._names.setdefault(name, config_id) != config_id:
            return f"{name} {config_id}".strip()
        return name

    def _describe(self) -> None:
        names = {key[0]: node.name for key, node in self.nodes.items() if len(key) == 1}
        self._tags[TOP][DESCRIPTION] = mask(description(self.state, self._scores, names))

    def _freeze(self, event: dict) -> None:
        """Add the estimates and the configurations to confirm, when the search phase is over."""
        self._tags[TOP].update(stopped=event["because"], frozen=", ".join(event["configs"]))
        estimates = event.get("estimates", {})
        if not self._scores.replicated:  # with one seed each, P(best) is unknown
            estimates = {key: {**values, "p_best": None} for key, values in estimates.items()}
        chosen = next(iter([*event["configs"], *estimates]), "")
        if chosen in self._scores.summaries:
            self._choose(chosen)
        self._intervals(SEARCH)
        for config_id, values in estimates.items():
            self._add((config_id,), values, sum(map(len, self._scores.rows.get(config_id, ()))))
        self._describe()

    def _open(self, key: Key, name: str, params: dict[str, str], **tags: str) -> None:
        """Create a node. If it exists, after an interruption, tag it with the current revision of the code."""
        if key in self.nodes:
            self._tags[key]["revision"] = self._revision
            return
        method = self.state.specification.get("method", "")
        tags |= {
            "method": method["trainable"] if isinstance(method, dict) else method,
            "revision": self._revision,
            "selection": self._selection.label,
            **({"oracle": "true"} if self._selection.oracle else {}),
        }
        inputs = _inputs(self.state.search) if len(key) < 2 else []
        self.nodes[key], self._tags[key] = Node(name, self._moment, tags, params, inputs), {}

    def _step(self, key: Key, metrics: dict[str, float]) -> None:
        """Add a step, unless a run that was restarted after an interruption repeats it."""
        step, known = self._run(key).step, self._steps.setdefault(key, {})
        if known.get(step) == metrics:
            return
        known[step] = metrics
        self._add(key, {**with_means(metrics, self._selection), SCORE: self._selection.score(metrics)}, step)

    def _outcome(self, key: Key) -> None:
        run, tags = self._run(key), self._tags[key]
        self._steps.pop(key)
        if run.phase == CONFIRM and run.status == DONE:
            self._files.append(Update(key, pictures=True))
        self._add(key, {"seconds": run.seconds}, run.step)
        if run.same_as:
            tags["same_as"] = run.same_as
        if run.status != DONE:
            tags["status"] = run.status
        if names := single_class(run):
            tags["collapsed"] = ", ".join(names)
        if run.failed:
            tags.update(failure=run.status.partition(":")[2], error=mask(run.error))

    def _aggregate(self, run: Run) -> None:
        """Add the summaries of all configurations whose scores this run changes."""
        changed = self._scores.add(run)
        for config_id in changed:
            self._add((config_id,), self._summary(config_id), sum(map(len, self._scores.rows[config_id])))
        if self._scores.summaries and not self.state.stopped:  # after that the choice is fixed
            self._choose(self._scores.best, changed)
        elif self._best in changed:
            self._add(TOP, self._summary(self._best), self._scores.count + len(self._scores.rows[self._best][1]))

    def _summary(self, config_id: str) -> dict[str, float | None]:
        """Summarise the replicates of a configuration: the score that ranks, every metric, the number of failed runs.

        Metrics on dev sets are over the replicates of the search, metrics on test sets over fresh replicates.
        """
        configuration, points = self.state.configurations[config_id], dict[str, float | None]()
        ended = [run for run in configuration.runs.values() if counts(run, configuration)]
        for name, phase in SCORES.items():
            scores = self._measured(config_id, phase)
            points |= _named_score(summary(scores), name) if scores else {}
            metrics = flat(per_language([run for run in ended if run.phase == phase], self._selection))
            points |= {key: value for key, value in metrics.items() if phase == SEARCH or key.startswith("test/")}
        return points | {"failed": sum(run.failed for run in ended)}

    def _measured(self, config_id: str, phase: str) -> list[float]:
        """The scores that a configuration counts with; none if all its runs failed, since nothing was measured."""
        runs = self.state.configurations[config_id].of_phase(phase)
        whole = any(run.finished and not run.failed for run in runs)
        return known(self._scores.rows[config_id][list(SCORES.values()).index(phase)]) if whole else []

    def _intervals(self, phase: str) -> None:
        """Add the intervals of all mean scores of a finished phase. They depend on all its configurations."""
        name = next(name for name, of in SCORES.items() if of == phase)
        pools = Pools.of(self.state, self._selection, phase, score_alone=True)
        for config_id in self._scores.rows:
            if not (scores := self._measured(config_id, phase)):
                continue
            over = summary(scores, pools.others(SCORE, config_id), self._selection.bounds)
            ends = {f"{name}_ci_low": over.ci_low, f"{name}_ci_high": over.ci_high}
            self._add((config_id,), ends, len(scores))
            if config_id == self._best:
                self._add(TOP, ends, self._scores.count)

    def _choose(self, best: str, changed: Sequence[str] = ()) -> None:
        """Add the scores of `best` to the search. It is the best configuration so far; once frozen, the choice.

        If neither the best nor its scores have changed, the score that ranks is enough: all else is there.
        """
        if best == self._best and best not in changed:
            scores = self._measured(best, SEARCH)
            self._add(TOP, _named_score(summary(scores)) if scores else {}, self._scores.count)
            return
        summary_of_best = self._summary(best)
        present = {name for name, value in summary_of_best.items() if value is not None}
        # One seed has no spread. That of an earlier best must not stand beside its mean.
        outdated = dict.fromkeys(sorted(self._shown - present), math.nan)
        self._shown = present
        self._add(TOP, {**summary_of_best, **outdated}, self._scores.count)
        if best != self._best:
            self._best = self._tags[TOP]["best_config_id"] = best

    def _decompose(self) -> None:
        """Add the spread and shares by stream, of the score and by language, that a result changed."""
        before = self._decomposition
        self._decomposition = decomposition.points(Results(self.state, Estimator(self._selection)))
        changed = {name: value for name, value in self._decomposition.items() if before.get(name) != value}
        self._add(TOP, changed, self.state.results)

    def _run(self, key: Key) -> Run:
        return self.state.configurations[key[0]].runs[key[1]]

    def _add(self, key: Key, metrics: dict[str, float | None], step: int) -> None:
        reported = ((name, float(value)) for name, value in metrics.items() if value is not None)
        self._points[key] += [Point(*metric, self._moment, step) for metric in reported]


def _inputs(search: dict) -> list[Input]:
    """The files and folders with a checksum that the search reads."""
    inputs = []
    for key, checksum in search.get("checksums", {}).items():
        path = search["specification"]
        for part in key.split("."):
            path = path.get(part) if isinstance(path, dict) else path  # a path with {language} has no keys below it
        if path and key != "model":
            inputs.append(Input(key, str(path), checksum))
    return inputs


def _named_score(over: Summary, name: str = SCORE) -> dict[str, float | None]:
    return {name: over.mean, f"{name}_sd": over.sd, f"{name}_n": over.n}


def _flat(tree: dict, prefix: str = "") -> dict:
    """Flatten `{"budget": {"runs": 60}}` to `{"budget.runs": 60}`; lists stay whole."""
    leaves: dict = {}
    for name, value in tree.items():
        leaves |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) and value else {f"{prefix}{name}": value}
    return leaves


def _texts(values: dict) -> dict[str, str]:
    """Parameters as strings, without passwords."""
    return {
        name: mask(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
        for name, value in values.items()
    }
