"""The trained models of the best configuration, for people who have never heard of a search."""

import os
import shutil
import tempfile
from pathlib import Path

from rich.console import Console
from rich.progress import track

from search.errors import RequestError
from search.ledger import Configuration, State
from search.method import method_class
from search.placement import this_machine
from search.specification import from_dict
from trainables import device
from trainables.base import Method, RunFailed
from trainables.streams import Streams


def export_models(state: State, config_id: str, to: Path, replicate: int, console: Console) -> list[Path]:
    """Train a configuration once more, at one replicate, and write its models below `to`, which must be new or empty.

    A search keeps scores and no weights. The same seeds give the same model; its scores are compared with the ledger's.
    """
    to = to.resolve()
    specification = from_dict(state.search["specification"]).as_dict()
    configuration = state.configurations[config_id]
    method = method_class(specification)
    if method.export is Method.export:
        raise RequestError("--model: this method has no models to export. Leave it out.")
    if replicate < 0:
        raise RequestError(f"--replicate {replicate}: replicates are counted from 0.")
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise RequestError(f"--model {to}: it is there and not an empty folder. Name another one.")
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=to.parent, prefix=f".{to.name}-"))
    except OSError as error:
        raise RequestError(f"--model {to}: {error}. Name a folder that can be made.") from error
    try:
        written = _train_and_export(method, specification, configuration, replicate, temporary, console)
        for path in [temporary, *temporary.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)  # weights are written for their owner alone
        os.replace(temporary, to)  # all languages at once, or none
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    return [to / path.relative_to(temporary) for path in written]


def _train_and_export(
    method: type[Method], specification: dict, configuration: Configuration, replicate: int, to: Path, console: Console
) -> list[Path]:
    with console.status("reading the inputs"):
        inputs = method.prepare(specification)
    placement = this_machine(specification["resources"])
    place = device.set_up(placement.cpus, placement.gpus)
    run = method(inputs, dict(configuration.params), Streams(specification["seed"], replicate), place)
    metrics: dict[str, float] = {}
    name = f"{configuration.config_id} at replicate {replicate}"
    try:
        for number in track(range(run.epochs), description=f"training {name}", console=console):
            metrics = run.epoch(number)
    except RunFailed as error:
        raise RequestError(f"--replicate {replicate}: this run fails ({error.kind}: {error}). Name another.") from error
    if replicate in configuration.runs:
        recorded = configuration.runs[replicate].metrics
        changed = [name for name in metrics if name in recorded and recorded[name] != metrics[name]]
        said = f"{len(changed)} scores differ from the search's" if changed else "the scores are those of the search"
        console.print(f"{name}: {said}.", soft_wrap=True)
    with console.status("writing the models"):
        return run.export(specification, to)
