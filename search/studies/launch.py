"""From a specification to a finished search folder: the ledger, Ray, the Tuner, and what is written at the end."""

import contextlib
import uuid
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console

from seedwise import paths, yaml12
from seedwise.errors import RequestError
from seedwise.files import write_atomically
from seedwise.folder import LEDGER, SPECIFICATION
from seedwise.imports import importable
from seedwise.program import called
from seedwise.search.cluster.nodes import ray_running
from seedwise.search.decide.proposal import REMOVED, SAMPLERS
from seedwise.search.decide.warm_start import read_earlier
from seedwise.search.execution.shutdown import Leaver
from seedwise.search.ledger.state import Ledger
from seedwise.search.ranking.results import Results
from seedwise.search.report.live import Progress
from seedwise.search.spec import provenance
from seedwise.search.spec.load import from_dict, recorded, set_all
from seedwise.search.spec.schema import Specification
from seedwise.search.studies.study import Search, study_of
from seedwise.search.tracking import follower
from seedwise.search.tracking.mirror import mask

TRACKING_SECONDS = 90.0  # how long a finished search waits for MLflow before it leaves the rest to `resume`
LEAVING_SECONDS = 5.0  # and one that was told to stop


@dataclass(frozen=True)
class Outcome:
    """What a search folder holds once nothing more is to be run."""

    study: Search
    results: Results
    nothing_new: bool  # it was finished before, and nothing was started


@importable()  # a method may import its neighbours while it works
def search(
    specification: Specification,
    folder: Path,
    console: Console,
    *,
    address: str | None = None,
    earlier_folders: Sequence[Path] = (),
) -> Outcome:
    """Run a search to its end, or go on with it where its ledger stops.

    A finished search is left as it is. `earlier_folders` are searches whose results warm this one up; what they say
    goes into the ledger at its start, and stays what it was then.
    """
    with opened(folder) as ledger:
        return _search(study_of(specification), ledger, folder, console, address, earlier_folders)


def resume(folder: Path, console: Console, *, address: str | None = None, settings: Sequence[str] = ()) -> Outcome:
    """Go on with the search of a folder. `settings` (KEY=VALUE) change its specification: the sampler alone can be."""
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
        changed = ["sampler"] if settings else []
        return _search(study_of(from_dict(content)), ledger, folder, console, address, changed=changed)


@contextlib.contextmanager
def opened(folder: Path) -> Iterator[Ledger]:
    """The ledger of a search folder, for this process alone. A search that has not begun leaves nothing behind."""
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
            with contextlib.suppress(OSError):  # somebody has put files there meanwhile
                for path in new:
                    path.rmdir()


def _search(
    study: Search,
    ledger: Ledger,
    folder: Path,
    console: Console,
    address: str | None,
    earlier_folders: Sequence[Path] = (),
    changed: Collection[str] = (),
) -> Outcome:
    """The work of both, on an open ledger. `changed`: the keys that may differ from those of the sessions before."""
    specification, parts = study.specification, study.specification.parts
    resolved = specification.as_dict()
    uri = specification.tracking.uri
    if uri != "off":  # the ledger keeps where it is, from whatever folder it is resumed, and never a password
        uri = follower.resolve_uri(uri, Path.cwd())
        resolved["tracking"]["uri"] = mask(uri)
    if first := ledger.state.search:
        if earlier_folders:
            problem = f"the search in {folder} has begun, and learns at its start only"
            raise RequestError("--from", problem, "Leave it out.")
        refuse_other(recorded(ledger.state).as_dict(), resolved, folder, changed)
        if ledger.state.finished:
            with tracked(uri, folder, console):  # completes what an outage left open
                return Outcome(study, Results(ledger.state, parts.estimator), nothing_new=True)
    if specification.sampler == REMOVED:
        go_on = f"Go on with another: {called('resume', folder, '--set', 'sampler=tpe')}"
        choose = f"Choose another: {', '.join(SAMPLERS)}."
        raise RequestError("sampler", f"{REMOVED} was removed", go_on if first else choose)
    if path := specification.checkpoints.path:
        check_place(path)
    warm = read_earlier(earlier_folders, parts.selection, resolved["method"])
    method = study.method()
    with console.status("reading the inputs"):
        inputs = method.prepare(specification, parts.candidates)
        sums = provenance.checksums(resolved)
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
            "command": mask(provenance.command()),
            "folder": str(paths.folder()),
            "revision": provenance.revision(),
            "versions": provenance.versions(),
            "checksums": sums,
            "searched": study.searched(),
            "earlier": warm,
            "notes": notes,
        }
    )
    with (
        tracked(uri, folder, console),
        ray_running(address, console),
        Leaver(specification.checkpoints.grace).listening() as leaver,
    ):
        view = partial(Progress, console, named=partial(study.named, ledger.state))
        study.phases()(specification, ledger, folder, method, inputs, console, leaver, view).run_all()
        results = Results(ledger.state, parts.estimator)
        ledger.append({"event": "end", "because": ledger.state.stopped, **study.write(results, folder, console)})
    return Outcome(study, results, nothing_new=False)


def check_place(path: str) -> None:
    """Refuse a place for states that could not be one, before anything is begun."""
    from seedwise.search.execution.checkpoints import Shelf

    try:
        if "://" not in path and not Path(path).is_absolute():
            raise ValueError("workers have other current folders")
        Shelf(path)
    except (ValueError, OSError) as error:
        reason = str(error).split("\n")[0].rstrip(".")
        fix = "Write an absolute path, or an address such as s3://bucket/states."
        raise RequestError("checkpoints.path", f"{path}: {reason}", fix) from error


def refuse_other(before: dict, now: dict, folder: Path, changed: Collection[str]) -> None:
    """A folder holds one search: the same specification goes on, another one is refused."""
    for key in now:
        if key not in changed and before.get(key) != now[key]:
            raise RequestError(
                str(folder),
                f"holds a search with {key}: {before.get(key)!r}, this one has {now[key]!r}",
                f"Choose another folder with --out, or go on with that one: {called('resume', folder)}",
            )


@contextlib.contextmanager
def tracked(uri: str, folder: Path, console: Console) -> Iterator[None]:
    """MLflow follows the ledger meanwhile. An outage is said once, at the end, and loses nothing."""
    if uri == "off":
        yield
        return
    process = follower.start_follower(folder, uri if mask(uri) != uri else "")
    patience = TRACKING_SECONDS
    try:
        yield
    except KeyboardInterrupt:
        patience = LEAVING_SECONDS
        raise
    finally:
        with console.status("writing the last runs to MLflow"):
            complete = follower.finish(process, patience)
        if not complete:
            console.print(
                f"MLflow was not reached; nothing is lost, this completes it: {called('resume', folder)}",
                soft_wrap=True,
            )
