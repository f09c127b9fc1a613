"""The state of a search that the lines of its ledger describe. Only `State.apply` interprets lines."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from seedwise import paths
from seedwise.errors import RequestError
from seedwise.folder import run_id
from seedwise.imports import imported
from seedwise.renamed_keys import with_new_names
from seedwise.search.ledger.counts import Tally

RUNNING = "running"
INTERRUPTED = "interrupted"  # its session ended or its worker was lost before it had a result: it will continue
WAITING = "waiting"  # out of memory in its share of a device: it gets a whole device after the other runs
DONE = "done"
COLLAPSED = "failed:collapsed"  # predicts a single class; version 0.8 and users' methods report that as a failure
PRUNED = "pruned"
SEARCH, CONFIRM = "search", "confirm"  # the phases
PLANNED = "planned"  # the only phase of a landscape


@dataclass
class Run:
    """One configuration at one replicate. `status` is running, interrupted, waiting, done, pruned or failed:<kind>."""

    config_id: str
    replicate: int
    phase: str
    status: str = RUNNING
    metrics: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    step: int = 0
    epochs: int = 0  # how many steps the run takes in all; 0 until the run has reported it
    steps: dict[int, dict[str, float]] = field(default_factory=dict)  # metrics after each step, for pruning
    error: str = ""
    fingerprint: str = ""  # equal for runs that do the same work
    same_as: str = ""  # CONFIGURATION/REPLICATE of the equal run whose results this run took
    collapsed: bool = False  # whether the run was recorded as `COLLAPSED`; its scores count like those of any other run
    ended: int = 0  # rank among the runs that have ended, from 1 on; 0 until the run has ended
    losses: tuple[tuple[str, str], ...] = ()  # for each lost worker: the reason, and its node if known
    alone: bool = False  # whether the run gets a whole device, since its share was too small

    @property
    def name(self) -> str:
        return run_id(self.config_id, self.replicate)

    @property
    def finished(self) -> bool:
        return self.status not in (RUNNING, INTERRUPTED, WAITING)

    @property
    def failed(self) -> bool:
        return self.status.startswith("failed")

    def interrupt(self) -> None:
        self.status = WAITING if self.alone else INTERRUPTED


@dataclass
class Configuration:
    """One point of the space, in canonical form, with all its runs by replicate."""

    config_id: str
    params: dict
    ask: int
    suggested: dict = field(default_factory=dict)  # the values that Optuna drew, from which the space made `params`
    vary: str | None = None  # the only random stream whose seed depends on the replicate; None: all streams
    runs: dict[int, Run] = field(default_factory=dict)

    @property
    def baseline(self) -> str:
        """The name of the baseline; empty for a configuration of the searched method."""
        return self.params.get("baseline", "")

    @property
    def pruned(self) -> bool:
        return any(run.status == PRUNED for run in self.runs.values())

    def of_phase(self, phase: str) -> list[Run]:
        return [run for run in self.runs.values() if run.phase == phase]


@dataclass
class State:
    """The state of a search as of the last line of its ledger. Only `apply` changes it."""

    configurations: dict[str, Configuration] = field(default_factory=dict)
    search: dict = field(default_factory=dict)  # the first `search` event: name, search_id, specification ...
    sessions: int = 0
    stopped: str = ""  # why the search phase ended; empty until then
    frozen: tuple[str, ...] = ()  # the configurations chosen for confirmation, best first
    estimates: dict[str, dict] = field(default_factory=dict)  # of all configurations at the freeze, best first
    policy_stopped: str = ""  # why the policy stopped, if baselines follow
    frozen_baselines: tuple[str, ...] = ()  # the best configuration of each baseline
    finished: str = ""  # why the search ended; empty until then
    results: int = 0  # runs that have ended, confirmation included
    next_ask: int = 0  # the number of the next draw
    placement: dict = field(default_factory=dict)  # the last `place` event: what one run occupies, and why
    worked: float = 0.0  # seconds from the first to the last line of each session, without the line `end`, summed
    last_time: float = 0.0
    tally: Tally = field(default_factory=Tally, repr=False)  # counts over all runs, derived from the same lines

    @property
    def specification(self) -> dict:
        """The specification as resolved when the search began, but with the sampler of the last session."""
        return self.search["specification"]

    @property
    def started_in(self) -> Path:
        """The folder that relative paths of the specification start in; the current folder if that folder is gone."""
        folder = Path(self.search.get("folder", "."))
        return folder if folder.is_dir() else Path.cwd()

    @contextlib.contextmanager
    def own_folder(self) -> Iterator[None]:
        """In this block, relative paths and modules are looked up in the folder where the search was started."""
        with paths.relative_to(self.started_in), imported():
            yield

    @property
    def method(self) -> str | dict:
        """The name of a built-in method, or the import paths of a user's own method."""
        return self.specification["method"]

    def apply(self, event: dict) -> None:
        kind, moment = event["event"], event.get("time", self.last_time)
        if kind not in ("search", "end"):  # a report shows the same hours before and after `end`
            self.worked += max(0.0, moment - self.last_time)
        self.last_time = moment
        match kind:
            case "search":
                self.search = self.search or as_now(event)
                if sampler := event.get("specification", {}).get("sampler"):  # `resume --set` can change it
                    self.search = {**self.search, "specification": {**self.specification, "sampler": sampler}}
                self.sessions += 1
                self.finished = ""
                self.interrupt_runs()
            case "ask":
                self.configurations[event["config_id"]] = Configuration(
                    event["config_id"], event["params"], event["ask"], event.get("suggested", {}), event.get("vary")
                )
                self.next_ask = max(self.next_ask, event["ask"] + 1)
            case "start":
                run = Run(event["config_id"], event["replicate"], event["phase"])
                runs = self.configurations[run.config_id].runs
                if before := runs.get(run.replicate):  # continued from its checkpoint after an interruption
                    run.steps, run.losses, run.alone = before.steps, before.losses, before.alone
                runs[run.replicate] = run
                self.next_ask = max(self.next_ask, event.get("ask", -1) + 1)
            case "step":
                run = self._run(event)
                run.metrics, run.step, run.epochs = event["metrics"], event["step"], event.get("epochs", 0)
                run.steps[run.step] = run.metrics
            case "result":
                run = self._run(event)
                run.status, run.metrics, run.seconds = event["status"], event["metrics"], event["seconds"]
                if run.status == COLLAPSED and run.metrics and run.phase != PLANNED:  # a landscape needs its model
                    run.status, run.collapsed = DONE, True
                run.error, run.step = event.get("error", ""), event.get("step", run.step)
                run.fingerprint, run.same_as = event.get("fingerprint", ""), event.get("same_as", "")
                run.steps[run.step] = run.metrics
                self.results += 1
                run.ended = self.results
            case "lost":
                run = self._run(event)
                run.interrupt()
                run.losses = (*run.losses, (event["because"], event.get("node", "")))
            case "wait":
                run = self._run(event)
                run.status, run.alone = WAITING, True
            case "place":
                self.placement = event
            case "freeze":
                self.stopped, self.frozen = event["because"] or "stopped", tuple(event["configs"])
                self.frozen_baselines, self.estimates = tuple(event.get("baselines", ())), event.get("estimates", {})
            case "baselines":
                self.policy_stopped = event["because"] or "stopped"
            case "end":
                self.finished = event["because"]
        if kind != "step" and "config_id" in event:
            self.tally.update(self.configurations[event["config_id"]])

    def _run(self, event: dict) -> Run:
        return self.configurations[event["config_id"]].runs[event["replicate"]]

    def interrupt_runs(self) -> None:
        """Mark all running runs as interrupted: their session has ended."""
        for run in self.runs():
            if run.status == RUNNING:
                run.interrupt()

    def runs(self) -> Iterator[Run]:
        """All runs: configurations in the order of proposal, replicates in the order in which they started."""
        for configuration in self.configurations.values():
            yield from configuration.runs.values()

    def runs_of(self, phase: str) -> Iterator[Run]:
        return (run for run in self.runs() if run.phase == phase)

    @property
    def resources(self) -> dict:
        """The resources of the specification; `auto` is replaced by the value that was chosen, once it is known."""
        resources, placed = self.specification["resources"], self.placement
        auto = [kind for kind in ("cpus", "gpus") if resources[f"{kind}_per_run"] == "auto" and kind in placed]
        return {**resources, **{f"{kind}_per_run": placed[kind] for kind in auto}}

    @property
    def succeeded(self) -> bool:
        """Whether any run of the searched method is done; baselines do not count."""
        return any(run.status == DONE for run in self.runs() if not self.configurations[run.config_id].baseline)


def as_now(event: dict) -> dict:
    """A `search` event of an earlier version with today's keys; keys added since get the behaviour of that version."""
    specification = with_new_names(event.get("specification", {}), advise=False)
    specification = {"compat": "ours", "baselines": {}, "landscape": None, **specification}
    if specification["baselines"]:
        specification = {"baseline_lengths": "longest", **specification}
    event = {**event, "specification": specification}
    replicates = specification.get("replicates", {})
    if "policy" not in replicates or "confirm" in replicates:
        return event
    replicates = {**replicates, "confirm": {"top": 0, "fresh": 1}}
    return {**event, "specification": {"prune": "off", "decompose": [], **specification, "replicates": replicates}}


def replay(events: list[dict]) -> State:
    """The state that these events describe."""
    state = State()
    for number, event in enumerate(events, start=1):
        try:
            state.apply(event)
        except (KeyError, TypeError, AttributeError) as error:
            fix = "The ledger was edited, or another version wrote it: use that version."
            raise RequestError(f"ledger line {number}", repr(error), fix) from error
    return state
