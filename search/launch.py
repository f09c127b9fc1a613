"""From a specification to a finished search folder: the ledger, Ray, the Tuner, and what is written at the end."""

import contextlib
import os
import signal
import sys
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from search import page, provenance, report, tracking, yaml12
from search.baselines import baselines_of, searched, total_runs
from search.decide import freeze
from search.earlier import read_earlier
from search.errors import RequestError
from search.export import Export
from search.files import write_atomically
from search.findings import Findings
from search.follow import mask
from search.ledger import CONFIRM, SEARCH, Ledger, State, read
from search.method import method_class
from search.placement import Placement
from search.policy import Confirmation
from search.progress import Progress
from search.specification import Specification, from_dict
from search.standing import Standing

RESTARTS = 2  # of a run whose worker process died: it goes on from its last checkpoint
TRACKING_SECONDS = 90.0  # how long a finished search waits for MLflow before it leaves the rest to `resume`
# Tune's own loggers write five files per run, its snapshots are never read here, and its signal handler hides Ctrl-C.
ENVIRONMENT = {
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "TUNE_GLOBAL_CHECKPOINT_S": "3600",
    "TUNE_DISABLE_SIGINT_HANDLER": "1",
    "TUNE_WARN_EXCESSIVE_EXPERIMENT_CHECKPOINT_SYNC_THRESHOLD_S": "0",
    "RAY_CHDIR_TO_TRIAL_DIR": "0",
    "RAY_AIR_NEW_OUTPUT": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}


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
        with tracked(uri, folder, console), ray_running(address, console), interruptible():
            phases = Phases(specification, ledger, folder, method, inputs, console)
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
    """The two phases of a search, each a Tuner of its own: the workers of the first never hold a test set."""

    specification: Specification
    ledger: Ledger
    folder: Path
    method: type
    inputs: Any
    console: Console

    def __post_init__(self) -> None:
        self.resolved = self.specification.as_dict()
        self.confirm = self.resolved["replicates"]["confirm"]
        self.standing = self.specification.standing()

    def run(self, phase: str) -> str:
        """Let Tune run what is decided in a phase, on the Ray that is there, and return why it stopped."""
        import ray
        from ray import tune

        from search.searcher import LedgerSearcher, Pruner, Session, Ticker, publish_known
        from trainables.base import RunTrainable

        policy = self.specification.policy(self.standing)
        baselines = baselines_of(self.resolved, policy)
        total = total_runs(self.resolved, policy, self.ledger.state)
        tests = {}
        if phase == CONFIRM:
            policy, baselines = Confirmation(self.confirm["fresh"]), None
            with self.console.status("reading the test sets"):
                tests = {"tests": self.method.prepare_test(self.resolved)}

        publish_known(self.ledger.state, phase)
        cluster = ray.cluster_resources()
        placement = Placement.of(self.resolved["resources"], cluster.get("CPU", 0.0), cluster.get("GPU", 0.0))
        checkpoints = self.folder.resolve() / "checkpoints"
        with Progress(self.console, self.ledger.state, self.standing, total) as progress:
            session = Session(
                self.ledger,
                policy,
                self.specification.proposer(self.standing),
                placement,
                checkpoints,
                self.specification.checkpoints.seconds,
                total,
                self.specification.prune,
                baselines,
                progress.result,
            )
            trainable = tune.with_parameters(RunTrainable, method=self.method, inputs=self.inputs, **tests)
            tune.Tuner(
                tune.with_resources(trainable, {"cpu": placement.cpus, "gpu": placement.gpus}),
                tune_config=tune.TuneConfig(
                    search_alg=LedgerSearcher(session),
                    scheduler=Pruner(session),
                    num_samples=-1,
                    max_concurrent_trials=placement.slots,
                    reuse_actors=True,
                    trial_dirname_creator=lambda trial: f"{trial.config['config_id']}-{trial.config['replicate']}",
                ),
                run_config=tune.RunConfig(
                    name=f"session-{self.ledger.state.sessions}-{phase}",
                    storage_path=str(checkpoints),
                    failure_config=tune.FailureConfig(max_failures=RESTARTS),
                    checkpoint_config=tune.CheckpointConfig(num_to_keep=1, checkpoint_at_end=False),
                    callbacks=[Ticker(progress)],
                    verbose=0,
                ),
            ).fit()
        return session.because


@contextlib.contextmanager
def ray_running(address: str | None, console: Console) -> Iterator[None]:
    """Ray on this machine for as long as the block lasts, or a connection to a cluster; one that is there is kept."""
    os.environ.update(ENVIRONMENT)
    import ray

    if ray.is_initialized():
        yield
        return
    path = os.pathsep.join(filter(None, sys.path))  # workers import what the driver could import
    if address is None:
        os.environ["PYTHONPATH"] = path
        more = {"address": "local", "include_dashboard": False}  # whatever cluster may be running here too
    else:
        more = {"address": address, "runtime_env": {"env_vars": {"PYTHONPATH": path}}}
    with console.status("starting Ray"):
        ray.init(logging_level="ERROR", log_to_driver=False, **more)
    try:
        yield
    finally:
        ray.shutdown()


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
    try:
        yield
    finally:
        with console.status("writing the last runs to MLflow"):
            complete = tracking.finish(follower, TRACKING_SECONDS)
        if not complete:
            console.print(
                f"MLflow was not reached; nothing is lost, `python run_search.py resume {folder}` completes it.",
                soft_wrap=True,
            )


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """A termination request ends the search like Ctrl-C: cleanly, to be resumed."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def resume(folder: Path, console: Console, *, address: str | None = None) -> State:
    """Go on with the search of a folder."""
    state = read(folder / "ledger.jsonl")
    if not state.search:
        raise RequestError(f"{folder}: there is no search here. Start one with python run_search.py search SPEC.")
    folder = folder.resolve()
    if Path(state.search["folder"]).is_dir():
        os.chdir(state.search["folder"])  # paths in a specification are relative to where it was started
    return search(from_dict(state.search["specification"]), folder, console, address=address)
