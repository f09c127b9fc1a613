"""Write the best configuration so far to a file that can be rerun, its models, or the search as an Optuna study."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from seedwise.exit_codes import DONE
from seedwise.program import called, tool
from seedwise.search.commands.arguments import add_folder, positive
from seedwise.search.commands.conclude import opened

if TYPE_CHECKING:
    from seedwise.search.ranking.results import Results


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument("--to", type=Path, metavar="FILE", help="where to (default: DIR/best.yaml, DIR/top, DIR/tied)")
    parser.add_argument("--top", type=positive, metavar="N", help="the N best, as best-1.yaml ... in a folder")
    parser.add_argument("--tied", action="store_true", help="the best and all configurations tied with it, likewise")
    parser.add_argument("--format", default="yaml", help="yaml, json, or hf: keys of TrainingArguments (default: yaml)")
    parser.add_argument("--model", type=Path, metavar="FOLDER", help="also train the best and write its models")
    parser.add_argument("--replicate", type=int, default=0, metavar="N", help="the seed of that training (default: 0)")
    parser.add_argument("--register", metavar="NAME", help="also register the models in MLflow under this name")
    parser.add_argument("--optuna", type=Path, metavar="FILE", help="only write the search as an Optuna study (SQLite)")


def run(options: argparse.Namespace, console: Console) -> int:
    from seedwise.search.export.best import ExportRequest

    request = ExportRequest(
        options.to, options.top, options.tied, options.format, options.model, options.optuna, options.register
    )
    with opened(options.folder, "Export from") as (_, results):
        if options.optuna:
            from seedwise.search.export.optuna_study import write_study

            write_study(results, options.optuna)
            look = tool("optuna-dashboard", f"sqlite:///{options.optuna}")
            console.print(f"wrote {options.optuna}; look at it with: {look}", soft_wrap=True)
            return DONE
        written = request.write(results, options.folder)
        for path, _ in written:
            again = "" if options.format == "hf" else f"; rerun it with: {called('run', path)}"
            console.print(f"wrote {path}{again}", soft_wrap=True)
        if options.model:
            _export_models(results, written[0][1], options, console)
    return DONE


def _export_models(results: "Results", exported: dict, options: argparse.Namespace, console: Console) -> None:
    from seedwise.search.export.models import export_models
    from seedwise.trainables.methods import built_in

    folders = export_models(results.state, exported, options.model, options.replicate, console)
    spec = built_in(results.state.method)
    export = spec and spec.export
    for folder in folders:
        use = f"; {export.then.format(folder=folder, pipeline=export.pipeline)}" if export else ""
        console.print(f"wrote {folder}{use}", soft_wrap=True)
    if options.register:
        from seedwise.search.export.model_registry import register

        for model in register(results.state, exported, options.replicate, folders, options.register):
            console.print(f'registered {model}; mlflow.transformers.load_model("{model}")', soft_wrap=True)
