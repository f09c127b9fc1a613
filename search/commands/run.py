"""Rerun an exported configuration and compare its scores."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from seedwise.errors import RequestError
from seedwise.exit_codes import DONE, FAILED
from seedwise.search.commands.arguments import add_allow_changed_inputs, add_settings, positive
from seedwise.search.commands.conclude import conclude

if TYPE_CHECKING:
    from seedwise.search.spec.schema import Specification

SHOWN_DIFFERENCES = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="an exported configuration, such as best.yaml")
    parser.add_argument("--replicates", type=positive, metavar="N", help="how many seeds (default: those of the file)")
    folder = "the search folder (default: runs/NAME-rerun, NAME-decompose)"
    parser.add_argument("--out", type=Path, metavar="DIR", help=folder)
    decompose = "vary one random stream at a time, to see where the spread comes from"
    parser.add_argument("--decompose", action="store_true", help=decompose)
    add_settings(parser, "override a key of its specification, e.g. select.on=target_dev")
    add_allow_changed_inputs(parser)


def run(options: argparse.Namespace, console: Console) -> int:
    from seedwise.search.export.rerun import differences, read_best, rerun_specification
    from seedwise.search.studies.launch import search as launch

    exported = read_best(options.file)
    specification = rerun_specification(exported, options.replicates, options.set, decompose=options.decompose)
    options.folder = options.out or Path("runs") / specification.name
    refuse_other_inputs(exported, specification, options, console)
    outcome = launch(specification, options.folder, console)
    conclude(outcome, options.folder, console)
    compared, changed = differences(exported, outcome.results.state)
    for line in changed[:SHOWN_DIFFERENCES]:
        console.print(line)
    console.print(
        f"{len(changed)} metrics of {compared} replicates differ from {options.file}."
        if changed
        else f"All scores of {compared} replicates equal those of {options.file}.",
        soft_wrap=True,
    )
    return FAILED if changed else DONE


def refuse_other_inputs(
    exported: dict, specification: "Specification", options: argparse.Namespace, console: Console
) -> None:
    """Refuse data or a model other than those of an exported configuration, unless --allow-changed-inputs is given.

    `specification` is the specification that would run: that of the exported configuration, changed by --set.
    """
    from seedwise.search.export.rerun import other_inputs
    from seedwise.search.spec.provenance import checksums

    if changed := other_inputs(exported, checksums(specification)):
        problem = f"its inputs have changed: {', '.join(changed)}"
        if not options.allow_changed_inputs:
            fix = "Bring those files back, or run it on these with --allow-changed-inputs."
            raise RequestError(str(options.file), problem, fix)
        console.print(f"{options.file}: {problem}.", style="yellow", soft_wrap=True)
