"""From a specification to a finished search folder: the ledger, Ray, all phases, and the results."""

import contextlib
import sys
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console

from seedwise import paths, program, yaml12
from seedwise.errors import RequestError
from seedwise.files import write_atomically
from seedwise.folder import LEDGER, SPECIFICATION
from seedwise.imports import importable
from seedwise.program import called
from seedwise.search.cluster.nodes import ray_running
from seedwise.search.decide.samplers import REMOVED, SAMPLERS
from seedwise.search.decide.warm_start import read_earlier
from seedwise.search.execution.shutdown import Shutdown
from seedwise.search.ledger.file import Ledger
from seedwise.search.ranking.results import Results
from seedwise.search.spec import provenance
from seedwise.search.spec.load import from_dict, recorded, set_all
from seedwise.search.spec.schema import Specification
from seedwise.search.studies.study import Search, study_of
from seedwise.search.tracking import follower
from seedwise.search.tracking.mirror import mask
from seedwise.search.tracking.trackers import tracker_of

TRACKING_SECONDS = 90.0  # how long a finished search waits for MLflow before it leaves the rest to `resume`
INTERRUPTED_SECONDS = 5.0  # how long an interrupted search waits for MLflow


@dataclass(frozen=True)
class SearchOutcome:
    """The study of a search folder and its results."""

    study: Search
    results: Results
    nothing_new: bool  # the search was finished before, and nothing was started


@importable()  # a method may import modules beside it while it runs
def search(
    specification: Specification,
    folder: Path,
    console: Console,
    *,
    address: str | None = None,
    earlier_folders: Sequence[Path] = (),
) -> SearchOutcome:
    """Run a search to its end, from where its ledger stops. A finished search stays as it is.

    `address` is a Ray cluster (default: Ray on this machine). `earlier_folders` are searches for a warm start; their
    results are copied into the ledger when the search begins.
    """
    with opened(folder) as ledger:
        return _search(study_of(specification), ledger, folder, console, address, earlier_folders)


def resume(
    folder: Path, console: Console, *, address: str | None = None, settings: Sequence[str] = ()
) -> SearchOutcome:
    """Continue the search of a folder. `settings` (KEY=VALUE) change its specification: only `sampler` is accepted."""
    for setting in settings:
        if (key := setting.partition("=")[0]) != "sampler":
            fix = "Leave it out, or start another search."
            raise RequestError(f"--set {key}", "only the sampler of a search that has begun can be changed", fix)
    if not (folder / LEDGER).exists():
        raise RequestError(str(folder), "there is no search here", f"Start one with: {called('search', 'SPEC')}")
    folder = folder.resolve()
    with opened(folder) as ledger, ledger.state.own_folder():
        content = dict(ledger.state.specification)
        set_all(content, settings)
        return _search(study_of(from_dict(content)), ledger, folder, console, address, new_sampler=bool(settings))


@contextlib.contextmanager
def opened(folder: Path) -> Iterator[Ledger]:
    """Open the ledger of a search folder, locked for this process. A search that does not begin leaves no files."""
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        ledger = Ledger(folder / LEDGER)
    except OSError as error:
        raise RequestError(str(folder), str(error.strerror), "Choose another folder with --out.") from error
    try:
        yield ledger
    finally:
        ledger.close()
        if not ledger.state.search:
            ledger.path.unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # the folder holds other files
                for path in new:
                    path.rmdir()


def _search(
    study: Search,
    ledger: Ledger,
    folder: Path,
    console: Console,
    address: str | None,
    earlier_folders: Sequence[Path] = (),
    *,
    new_sampler: bool = False,
) -> SearchOutcome:
    """`search` and `resume` on an open ledger. `new_sampler`: the sampler may differ from that of earlier sessions."""
    specification, parts = study.specification, study.specification.parts
    resolved = specification.as_dict()
    uri = specification.tracking.uri
    if uri != "off":  # the ledger gets an absolute path, to be resumed from any folder, and no password
        uri = tracker_of(uri).resolve(uri, Path.cwd())
        resolved["tracking"]["uri"] = mask(uri)
    if first := ledger.state.search:
        if earlier_folders:
            problem = f"the search in {folder} has begun, and a warm start comes first"
            raise RequestError("--from", problem, "Leave it out.")
        before = recorded(ledger.state).as_dict()
        for key, value in resolved.items():
            if before.get(key) != value and not (new_sampler and key == "sampler"):
                problem = f"holds a search with {key}: {before.get(key)!r}, the specification has {value!r}"
                fix = f"Choose another folder with --out, or continue that search: {called('resume', folder)}"
                raise RequestError(str(folder), problem, fix)
        if ledger.state.finished:
            with tracked(uri, folder, console):  # after an outage, MLflow may lack runs
                return SearchOutcome(study, parts.results(ledger.state), nothing_new=True)
    if specification.sampler == REMOVED:
        resume_it = f"Continue with another: {called('resume', folder, '--set', 'sampler=tpe')}"
        choose = f"Choose another: {', '.join(SAMPLERS)}."
        raise RequestError("sampler", f"{REMOVED} was removed", resume_it if first else choose)
    if path := specification.checkpoints.path:
        from seedwise.search.execution.checkpoints import CheckpointStore

        CheckpointStore(path)  # a wrong path is refused before anything starts
    warm = read_earlier(earlier_folders, parts.estimator.selection, resolved["method"])
    method = study.method()
    with console.status("reading the inputs"):
        inputs = method.prepare(specification, parts.candidates)
        checksums = provenance.checksums(specification)
    notes = list(getattr(inputs, "notes", ()))
    for note in notes:
        console.print(note, style="yellow", soft_wrap=True)
    write_atomically(folder / SPECIFICATION, yaml12.dump(resolved))
    ledger.append(
        {
            "event": "search",
            "name": specification.name,
            "search_id": first["search_id"] if first else uuid.uuid4().hex,
            "session": ledger.state.sessions,
            "specification": resolved,
            "command": program.command(*map(mask, sys.argv[1:])),
            "folder": str(paths.folder()),
            "revision": provenance.revision(),
            "versions": provenance.versions(),
            "checksums": checksums,
            "searched": study.searched(),
            "earlier": warm,
            "notes": notes,
        }
    )
    with (
        tracked(uri, folder, console),
        ray_running(address, console),
        Shutdown(specification.checkpoints.grace).handling_signals() as shutdown,
    ):
        from seedwise.search.execution.phases import Phases  # imports Ray Tune, which reads its environment

        view = partial(study.progress, console, named=partial(study.label, ledger.state))
        study.run(Phases(study, ledger, inputs, console, shutdown, view))
        results = parts.results(ledger.state)
        ledger.append({"event": "end", "because": ledger.state.stopped, **study.write(results, folder, console)})
    return SearchOutcome(study, results, nothing_new=False)


@contextlib.contextmanager
def tracked(uri: str, folder: Path, console: Console) -> Iterator[None]:
    """Let a tracker follow the ledger during this block. An outage is reported once, at the end, and loses nothing."""
    if uri == "off":
        yield
        return
    process = follower.start_follower(folder, uri if mask(uri) != uri else "")
    timeout = TRACKING_SECONDS
    try:
        yield
    except KeyboardInterrupt:
        timeout = INTERRUPTED_SECONDS
        raise
    finally:
        with console.status(f"writing the last runs to {tracker_of(uri).name}"):
            complete = follower.finish(process, timeout)
        if not complete:
            fix = f"Nothing is lost. Write the missing runs with: {called('resume', folder)}"
            console.print(f"{tracker_of(uri).name} did not answer. {fix}", soft_wrap=True)
