"""Exports the trained models of the best configuration, which can be used without Seedwise."""

import os
import shutil
import tempfile
from pathlib import Path

from rich.console import Console
from rich.progress import track

from seedwise.errors import RequestError
from seedwise.search.cluster.placement import this_machine
from seedwise.search.decide.policy import run_name
from seedwise.search.export.card import Card
from seedwise.search.export.rerun import other_inputs
from seedwise.search.ledger.state import Configuration, State
from seedwise.search.spec.load import from_dict
from seedwise.search.spec.provenance import checksums
from seedwise.trainables.method import Method, RunFailed
from seedwise.trainables.streams import Streams
from seedwise.trainables.training import device


def export_models(state: State, exported: dict, to: Path, replicate: int, console: Console) -> list[Path]:
    """Train an exported configuration again, at one replicate, and write its models, each with a model card.

    `to` must be new or empty. A search stores scores but no weights. The same seeds and the same files give the same
    model: this checks the files, and compares the scores with the ledger.
    """
    to = to.resolve()
    specification = from_dict(state.specification)
    method, configuration = specification.parts.method, state.configurations[exported["config_id"]]
    if method.export is Method.export:
        raise RequestError("--model", "this method has no models to export", "Leave it out.")
    if replicate < 0:
        raise RequestError(f"--replicate {replicate}", "replicates are counted from 0")
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise RequestError(f"--model {to}", "it exists and is not an empty folder", "Name another folder.")
    if changed := other_inputs(exported, checksums(specification)):
        problem = f"these inputs have changed since the search: {', '.join(changed)}"
        raise RequestError(f"--model {to}", problem, "Bring those files back.")
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=to.parent, prefix=f".{to.name}-"))
    except OSError as error:
        raise RequestError(f"--model {to}", str(error.strerror), "Name a folder that can be created.") from error
    try:
        with console.status("reading the inputs"):
            inputs = method.prepare(specification, specification.parts.candidates)
        cpus = {"cpus_per_run": state.resources["cpus_per_run"]}
        placement, _ = this_machine(specification.resources.model_copy(update=cpus))
        with device.borrowed(placement.cpus, placement.gpus) as hardware:
            run = method(inputs, dict(configuration.params), Streams(specification.seed, replicate), hardware)
            metrics = _train(run, configuration, replicate, console)
            with console.status("writing the models"):
                written = run.export(specification, temporary)
        for folder in written:
            card = folder / "README.md"
            use = card.read_text(encoding="utf-8") if card.exists() else ""
            card.write_text(Card(exported, folder.name, replicate, metrics, use).text(), encoding="utf-8")
        for path in [temporary, *temporary.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)  # weight files are readable only by their owner
        os.replace(temporary, to)  # all languages appear at once
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    return [to / path.relative_to(temporary) for path in written]


def _train(run: Method, configuration: Configuration, replicate: int, console: Console) -> dict[str, float]:
    """Train to the end. Returns the scores, including recorded scores on test sets.

    If the scores differ from the search's, this is another model, so the recorded test scores are left out.
    """
    metrics, name = {}, run_name(configuration.config_id, replicate)
    try:
        for number in track(range(run.steps), description=f"training {name}", console=console):
            metrics = run.step(number)
    except RunFailed as error:
        problem = f"this run failed ({error.kind}: {error})"
        raise RequestError(f"--replicate {replicate}", problem, "Name another replicate.") from error
    if replicate not in configuration.runs:
        return metrics
    recorded = configuration.runs[replicate].metrics
    changed = [name for name in metrics if name in recorded and recorded[name] != metrics[name]]
    result = f"{len(changed)} scores differ from the search's" if changed else "the scores are those of the search"
    console.print(f"{name}: {result}.", soft_wrap=True)
    return metrics if changed else recorded | metrics
