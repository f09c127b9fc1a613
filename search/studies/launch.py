"""From a specification to a finished search folder: the ledger, Ray, the Tuner, and what is written at the end."""

import contextlib
import uuid
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from pathlib import Path

from rich.console import Console

from seedwise import paths, yaml12
from seedwise.errors import RequestError
from seedwise.files import write_atomically
from seedwise.folder import BEST, LEDGER, SPECIFICATION
from seedwise.imports import importable
from seedwise.program import called
from seedwise.search.cluster.nodes import ray_running
from seedwise.search.decide.baselines import searched
from seedwise.search.decide.landscape_plan import told_apart_by
from seedwise.search.decide.proposal import REMOVED, SAMPLERS
from seedwise.search.decide.warm_start import read_earlier
from seedwise.search.execution.phases import Phases
from seedwise.search.execution.shutdown import Leaver
from seedwise.search.export.best import Export
from seedwise.search.ledger.state import Ledger, State, read
from seedwise.search.ranking import leaderboard
from seedwise.search.ranking.estimator import Standing
from seedwise.search.report.findings import Findings
from seedwise.search.report.live import Progress
from seedwise.search.spec import provenance
from seedwise.search.spec.load import from_dict, set_all
from seedwise.search.spec.methods import method_class
from seedwise.search.spec.schema import Specification
from seedwise.search.studies.landscape_files import write_landscape
from seedwise.search.studies.landscape_phases import LandscapePhases
from seedwise.search.studies.report import write_report
from seedwise.search.tracking import follower
from seedwise.search.tracking.mirror import mask

TRACKING_SECONDS = 90.0  # how long a finished search waits for MLflow before it leaves the rest to `resume`
LEAVING_SECONDS = 5.0  # and one that was told to stop


def search(
    specification: Specification,
    folder: Path,
    console: Console,
    *,
    address: str | None = None,
    earlier_folders: Sequence[Path] = (),
    changed: Collection[str] = (),
) -> State:
    """Run a search to its end, or go on with it where its ledger stops; returns what the ledger says then.

    A finished search is left as it is: the caller sees that no session was added. `earlier_folders` are searches whose
    results warm this one up; what they say goes into the ledger at its start, and stays what it was then. `changed` are
    the keys of the specification that may differ from those of the sessions before.
    """
    resolved = specification.as_dict()
    uri = resolved["tracking"]["uri"]
    if uri != "off":  # the ledger keeps where it is, from whatever folder it is resumed, and never a password
        uri = follower.resolve_uri(uri, Path.cwd())
        resolved["tracking"]["uri"] = mask(uri)
    ledger_path = folder / LEDGER
    earlier = read(ledger_path)
    if earlier.search:
        if earlier_folders:
            raise RequestError(f"--from: the search in {folder} has begun, and learns at its start only. Leave it out.")
        refuse_other(from_dict(earlier.search["specification"]).as_dict(), resolved, folder, changed)
        if earlier.finished:
            with tracked(uri, folder, console):  # completes what an outage left open
                return earlier
    if specification.sampler == REMOVED:
        go_on = f"Go on with another: {called('resume', folder, '--set', 'sampler=tpe')}"
        choose = f"Choose another: {', '.join(SAMPLERS)}."
        raise RequestError("sampler", f"{REMOVED} was removed", go_on if earlier.search else choose)
    if at := resolved["checkpoints"]["at"]:
        check_place(at)
    warm = read_earlier(earlier_folders, specification.parts.selection, resolved["method"])
    method, asked = method_class(specification), specification.parts.asked
    with console.status("reading the inputs"), importable(paths.folder()):
        inputs = method.prepare(specification, asked)
        sums = provenance.checksums(resolved)
    for note in getattr(inputs, "notes", ()):
        console.print(note, style="yellow", soft_wrap=True)
    try:
        ledger = Ledger(ledger_path)
    except OSError as error:
        raise RequestError(f"{folder}: {error.strerror}. Choose another folder with --out.") from error
    try:
        write_atomically(folder / SPECIFICATION, yaml12.dump(resolved))
        first = ledger.state.search
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
                "searched": told_apart_by(resolved) if specification.landscape else searched(asked),
                "earlier": warm,
                "notes": list(getattr(inputs, "notes", ())),
            }
        )
        grace = specification.checkpoints.grace
        with (
            importable(paths.folder()),  # what a method of one's own imports while it works
            tracked(uri, folder, console),
            ray_running(address, console),
            Leaver(grace).listening() as leaver,
        ):
            kind = LandscapePhases if specification.landscape else Phases
            phases = kind(specification, ledger, folder, method, inputs, console, leaver, partial(Progress, console))
            phases.run_all()
            written = write_results(ledger.state, phases.standing, folder, console)
            ledger.append({"event": "end", "because": ledger.state.stopped, **written})
    finally:
        ledger.close()
    return ledger.state


def check_place(at: str) -> None:
    """Refuse a place for states that could not be one, before anything is begun."""
    from seedwise.search.execution.checkpoints import Shelf

    try:
        if "://" not in at and not Path(at).is_absolute():
            raise ValueError("workers have other current folders")
        Shelf(at)
    except (ValueError, OSError) as error:
        reason = str(error).split("\n")[0].rstrip(".")
        raise RequestError(
            f"checkpoints.at: {at}: {reason}. Write an absolute path, or an address such as s3://bucket/states."
        ) from error


def write_results(state: State, standing: Standing, folder: Path, console: Console) -> dict:
    """The leaderboard, the best configuration and the report, as files in the search folder; or those of a landscape.

    What it returns goes into the ledger: the files' names, where they are not those of every search.
    """
    if state.search["specification"]["landscape"]:
        return {"files": write_landscape(state, folder, console)}
    rows = leaderboard.leaderboard(state, standing)
    leaderboard.write(rows, folder)
    if not state.search["specification"]["decompose"]:  # whose rows are one configuration, streams apart
        if state.succeeded:
            found = Export(state, standing, folder)
            found.write(found.best, folder / BEST)
        try:
            write_report(Findings(state, standing), folder, ended=state.stopped)
        except Exception as error:  # a page can be written again at any time: it must not keep a search from ending
            again = f"Try again with: {called('report', folder)}"
            console.print(f"report.html was not written ({error!r}). {again}", style="yellow", soft_wrap=True)
    return {}


def refuse_other(before: dict, now: dict, folder: Path, changed: Collection[str]) -> None:
    """A folder holds one search: the same specification goes on, another one is refused."""
    for key in now:
        if key not in changed and before.get(key) != now[key]:
            raise RequestError(
                f"{folder}: holds a search with {key}: {before.get(key)!r}, this one has {now[key]!r}. "
                f"Choose another folder with --out, or go on with that one: {called('resume', folder)}"
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


def resume(folder: Path, console: Console, *, address: str | None = None, settings: Sequence[str] = ()) -> State:
    """Go on with the search of a folder. `settings` (KEY=VALUE) change its specification: the sampler alone can be."""
    for setting in settings:
        if (key := setting.partition("=")[0]) != "sampler":
            fix = "Leave it out, or start another search."
            raise RequestError(f"--set {key}", "only the sampler of a search that has begun can be changed", fix)
    state = read(folder / LEDGER)
    if not state.search:
        raise RequestError(f"{folder}: there is no search here. Start one with: {called('search', 'SPEC')}")
    folder = folder.resolve()
    started_in = Path(state.search["folder"])
    content = dict(state.specification)
    set_all(content, settings)
    with paths.relative_to(started_in if started_in.is_dir() else Path.cwd()):
        changed = ["sampler"] if settings else []
        return search(from_dict(content), folder, console, address=address, changed=changed)
