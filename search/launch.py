"""From a specification to a finished search folder: the ledger, Ray, the Tuner, and what is written at the end."""

import contextlib
import os
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from search import page, provenance, report, tracking, yaml12
from search.alone import Alone
from search.baselines import Baselines, baselines_of, searched, total_runs
from search.cluster import Slots, nodes_now, ray_running
from search.decide import Decider, freeze
from search.earlier import read_earlier
from search.errors import RequestError, SearchError
from search.export import Export
from search.files import write_atomically
from search.findings import Findings
from search.follow import mask
from search.leave import Leaver
from search.ledger import CONFIRM, INTERRUPTED, RUNNING, SEARCH, WAITING, Ledger, State, read
from search.method import method_class
from search.placement import Need, Placement, measures, place
from search.policy import Confirmation
from search.probe import measure, with_gpu_memory
from search.progress import Progress
from search.specification import Specification, from_dict
from search.standing import Standing

TRACKING_SECONDS = 90.0  # how long a finished search waits for MLflow before it leaves the rest to `resume`
LEAVING_SECONDS = 5.0  # and one that was told to stop


def search(
    specification: Specification,
    folder: Path,
    console: Console,
    *,
    address: str | None = None,
    earlier_folders: Sequence[Path] = (),
) -> State:
    """Run a search to its end, or go on with it where its ledger stops; returns what the ledger says then.

    A finished search is left as it is: the caller sees that no session was added. `earlier_folders` are searches whose
    results warm this one up; what they say goes into the ledger at its start, and stays what it was then.
    """
    resolved = specification.as_dict()
    uri = resolved["tracking"]["uri"]
    if uri != "off":  # the ledger keeps where it is, from whatever folder it is resumed, and never a password
        uri = tracking.resolve_uri(uri, Path.cwd())
        resolved["tracking"]["uri"] = mask(uri)
    ledger_path = folder / "ledger.jsonl"
    earlier = read(ledger_path)
    if earlier.search:
        if earlier_folders:
            raise RequestError(f"--from: the search in {folder} has begun, and learns at its start only. Leave it out.")
        refuse_other(from_dict(earlier.search["specification"]).as_dict(), resolved, folder)
        if earlier.finished:
            with tracked(uri, folder, console):  # completes what an outage left open
                return earlier
    if at := resolved["checkpoints"]["at"]:
        check_place(at)
    warm = read_earlier(earlier_folders, specification)
    method = method_class(resolved)
    with console.status("reading the inputs"):
        inputs = method.prepare(resolved)
        sums = provenance.checksums(resolved)
    for note in getattr(inputs, "notes", ()):
        console.print(note, style="yellow", soft_wrap=True)
    try:
        ledger = Ledger(ledger_path)
    except OSError as error:
        raise RequestError(f"{folder}: {error.strerror}. Choose another folder with --out.") from error
    try:
        write_atomically(folder / "search.yaml", yaml12.dump(resolved))
        first = ledger.state.search
        ledger.append(
            {
                "event": "search",
                "name": specification.name,
                "search_id": first["search_id"] if first else uuid.uuid4().hex,
                "session": ledger.state.sessions,
                "specification": resolved,
                "command": mask(provenance.command()),
                "folder": str(Path.cwd()),
                "revision": provenance.revision(),
                "versions": provenance.versions(),
                "checksums": sums,
                "searched": searched(resolved),
                "earlier": warm,
                "notes": list(getattr(inputs, "notes", ())),
            }
        )
        grace = specification.checkpoints.grace
        with (
            tracked(uri, folder, console),
            ray_running(address, console),
            Leaver(grace).listening() as leaver,
        ):
            phases = Phases(specification, ledger, folder, method, inputs, console, leaver)
            if not ledger.state.stopped:
                because = phases.run(SEARCH)
                ledger.append(freeze(ledger.state, phases.standing, because, phases.confirm["top"]))
            if ledger.state.frozen:
                phases.run(CONFIRM)
            write_results(ledger.state, phases.standing, folder, console)
            ledger.append({"event": "end", "because": ledger.state.stopped})
    finally:
        ledger.close()
    return ledger.state


def check_place(at: str) -> None:
    """Refuse a place for states that could not be one, before anything is begun."""
    from trainables.states import Shelf

    try:
        if "://" not in at and not Path(at).is_absolute():
            raise ValueError("workers have other current folders")
        Shelf(at)
    except (ValueError, OSError) as error:
        reason = str(error).split("\n")[0].rstrip(".")
        raise RequestError(
            f"checkpoints.at: {at}: {reason}. Write an absolute path, or an address such as s3://bucket/states."
        ) from error


def write_results(state: State, standing: Standing, folder: Path, console: Console) -> None:
    """The leaderboard, the best configuration and the report, as files in the search folder."""
    rows = report.leaderboard(state, standing)
    report.write(rows, folder)
    if not state.search["specification"]["decompose"]:  # whose rows are one configuration, streams apart
        found = Export(state, standing, folder)
        found.write(found.best, folder / "best.yaml")
        try:
            page.write(Findings(state, standing), folder, ended=state.stopped)
        except Exception as error:  # a page can be written again at any time: it must not keep a search from ending
            again = f"Try again with: python run_search.py report {folder}"
            console.print(f"report.html was not written ({error!r}). {again}", style="yellow", soft_wrap=True)


@dataclass
class Phases:
    """The two phases of a search, each with workers of its own: those of the first never hold a test set."""

    specification: Specification
    ledger: Ledger
    folder: Path
    method: type
    inputs: Any
    console: Console
    leaver: Leaver

    def __post_init__(self) -> None:
        self.resolved = self.specification.as_dict()
        self.confirm = self.resolved["replicates"]["confirm"]
        self.standing = self.specification.standing()
        self.placement = self.place()

    def place(self) -> Placement:
        """Decide what one run occupies, measuring where that is asked for, and write down what was decided and why.

        A search that goes on keeps its threads, or its scores would change in their last bits; what was measured on the
        same devices is not measured again.
        """
        resources, known, need = self.resolved["resources"], self.ledger.state.placement, None
        if known and resources["cpus_per_run"] == "auto":
            resources = {**resources, "cpus_per_run": known["cpus"]}
        with self.console.status("measuring what one run needs"):
            nodes = nodes_now()
            if resources["gpus_per_run"] == "auto":
                nodes = with_gpu_memory(nodes)
            if measures(resources, nodes):
                if "need" in known and devices(known["nodes"]) == devices([asdict(node) for node in nodes]):
                    need = Need(**known["need"])
                else:
                    need = measure(self.resolved, self.method, self.inputs, gpu=any(node.gpu_memory for node in nodes))
        try:
            placement = place(resources, nodes, need)
        except RequestError as error:
            if not known:
                raise
            what = str(error).rpartition(". ")[0]
            raise RequestError(f"{what}. This search has begun so: resume it where a node has as much.") from error
        self.ledger.append(placement.event(nodes, need))
        gpu = f" and {placement.gpus:g} GPU" if placement.gpus else ""
        why = f" ({placement.because})" if placement.because else ""
        where = "" if len(nodes) == 1 else f" on {len(nodes)} nodes"
        self.console.print(
            f"{placement.slots(nodes)} runs at once{where}, {placement.cpus} CPU{gpu} each{why}.", soft_wrap=True
        )
        return placement

    def run(self, phase: str) -> str:
        """Run what is decided in a phase to its end and return why it stopped.

        Runs that lost their worker when nothing more was to be started are started again; then those that were out of
        memory in their share get a whole device; and with what came of them it is decided once more.
        """
        tests = {}
        if phase == CONFIRM:
            with self.console.status("reading the test sets"):
                tests = {"tests": self.method.prepare_test(self.resolved)}
        while True:
            policy, baselines = self.specification.policy(self.standing), None
            if phase == CONFIRM:
                policy = Confirmation(self.confirm["fresh"])
            else:
                baselines = baselines_of(self.resolved, policy)
            because = self.tune(phase, policy, baselines, tests, self.placement)
            open_runs = {run.status for run in self.ledger.state.runs_of(phase) if not run.finished}
            if WAITING in open_runs and INTERRUPTED not in open_runs:
                self.tune(phase, Alone(phase), None, tests, self.placement.whole(nodes_now()) or self.placement)
            elif RUNNING in open_runs:
                raise SearchError(f"a run was left without a result. Go on: python run_search.py resume {self.folder}")
            elif not open_runs:
                return because

    def tune(self, phase: str, policy: Decider, baselines: Baselines | None, tests: dict, placement: Placement) -> str:
        """Let Tune run what a policy decides, on the Ray that is there, and return why it stopped."""
        from ray import tune

        from search.searcher import LedgerSearcher, Pruner, Ticker
        from search.session import Session, publish_known
        from trainables.base import RunTrainable

        publish_known(self.ledger.state, phase)
        total = total_runs(self.resolved, self.specification.policy(self.standing), self.ledger.state)
        trainable = tune.with_parameters(RunTrainable, method=self.method, inputs=self.inputs, **tests)
        with (
            tempfile.TemporaryDirectory(prefix="seedwise-") as place,
            Progress(self.console, self.ledger.state, self.standing, total) as progress,
            Slots(placement) as slots,
        ):
            session = Session(
                self.ledger,
                phase,
                policy,
                self.specification.proposer(self.standing),
                slots,
                self.placement.cpus,
                self.resolved["resources"],
                self.resolved["checkpoints"],
                total,
                self.specification.prune,
                baselines,
                passing=isinstance(policy, Alone),
                can_wait=self.placement.whole(nodes_now()) is not None,
                on_result=progress.result,
            )
            with self.leaver.of(session), tunes_files(place):
                tune.run(
                    tune.with_resources(trainable, {"cpu": placement.cpus, "gpu": placement.gpus}),
                    name=f"session-{self.ledger.state.sessions}-{phase}",
                    search_alg=LedgerSearcher(session),
                    scheduler=Pruner(session),
                    num_samples=-1,
                    reuse_actors=True,
                    trial_dirname_creator=lambda trial: f"{trial.config['config_id']}-{trial.config['replicate']}",
                    storage_path=place,  # for Tune's own files, which nobody reads
                    max_failures=0,  # a run that lost its worker is ours to start again
                    checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=False),
                    callbacks=[Ticker(progress, session)],
                    verbose=0,
                    raise_on_failed_trial=False,
                    _remote=False,
                )
            if session.broken:
                raise session.broken
            for trial_id in list(session.in_flight):  # of whose end Tune has said nothing
                session.record_loss(trial_id)
            if session.leave_by is not None:
                raise KeyboardInterrupt
        return session.because


@contextlib.contextmanager
def tunes_files(place: str) -> Iterator[None]:
    """Over ray:// Tune's loop runs here, where there is no node of Ray whose folder it could keep its files in."""
    import ray
    from ray.train._internal import storage

    usual = storage._get_ray_train_session_dir
    if ray.util.client.ray.is_connected():
        storage._get_ray_train_session_dir = lambda: place
    try:
        yield
    finally:
        storage._get_ray_train_session_dir = usual


def devices(nodes: list[dict]) -> set[tuple[int, int]]:
    """What a measurement depends on: the memory of GPUs and of machines that there are."""
    return {(node["gpu_memory"], node["memory"]) for node in nodes}


def refuse_other(before: dict, now: dict, folder: Path) -> None:
    """A folder holds one search: the same specification goes on, another one is refused."""
    for key in now:
        if before.get(key) != now[key]:
            raise RequestError(
                f"{folder}: holds a search with {key}: {before.get(key)!r}, this one has {now[key]!r}. "
                f"Choose another folder with --out, or go on with that one: python run_search.py resume {folder}"
            )


@contextlib.contextmanager
def tracked(uri: str, folder: Path, console: Console) -> Iterator[None]:
    """MLflow follows the ledger meanwhile. An outage is said once, at the end, and loses nothing."""
    if uri == "off":
        yield
        return
    follower = tracking.start_follower(folder, uri if mask(uri) != uri else "")
    patience = TRACKING_SECONDS
    try:
        yield
    except KeyboardInterrupt:
        patience = LEAVING_SECONDS
        raise
    finally:
        with console.status("writing the last runs to MLflow"):
            complete = tracking.finish(follower, patience)
        if not complete:
            console.print(
                f"MLflow was not reached; nothing is lost, `python run_search.py resume {folder}` completes it.",
                soft_wrap=True,
            )


def resume(folder: Path, console: Console, *, address: str | None = None) -> State:
    """Go on with the search of a folder."""
    state = read(folder / "ledger.jsonl")
    if not state.search:
        raise RequestError(f"{folder}: there is no search here. Start one with python run_search.py search SPEC.")
    folder = folder.resolve()
    if Path(state.search["folder"]).is_dir():
        os.chdir(state.search["folder"])  # paths in a specification are relative to where it was started
    return search(from_dict(state.search["specification"]), folder, console, address=address)
