"""Show why seeds disagree: interpolate between models of one configuration."""

import argparse
from pathlib import Path

from rich.console import Console

from seedwise.search.commands.arguments import (
    add_address,
    add_allow_changed_inputs,
    add_renamed,
    add_settings,
    positive,
)
from seedwise.search.commands.conclude import conclude
from seedwise.search.commands.run import refuse_other_inputs
from seedwise.search.commands.search import dry_run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="an exported configuration (best.yaml), or a specification")
    parser.add_argument("--replicates", type=positive, metavar="N", help="seeds of every model (default: 3)")
    match = "train all models for equally many updates, or epochs (default: updates; paper: epochs)"
    add_renamed(parser, "--equal", "--match", choices=("updates", "epochs"), help=match)
    parser.add_argument("--seeds-only", action="store_true", help="compare seeds alone: no target label is trained on")
    parser.add_argument("--baseline", metavar="NAME", help="a baseline instead of the method")
    add_settings(parser, "override any other key, e.g. landscape.directions=0")
    parser.add_argument("--out", type=Path, metavar="DIR", help="the landscape's folder (default: runs/NAME-landscape)")
    add_address(parser)
    add_allow_changed_inputs(parser)
    parser.add_argument("--dry-run", action="store_true", help="only print what would be trained and evaluated")


def run(options: argparse.Namespace, console: Console) -> int:
    from seedwise.search.studies.landscape_request import exported, landscape_specification
    from seedwise.search.studies.launch import search as launch

    given = {"replicates": options.replicates, "match": options.match, "baseline": options.baseline}
    given |= {"labels": False} if options.seeds_only else {}
    chosen = {name: value for name, value in given.items() if value is not None}
    content = exported(options.file)
    specification = landscape_specification(options.file, content, chosen, options.set)
    options.folder = options.out or Path("runs") / specification.name
    if content:
        refuse_other_inputs(content, specification, options, console)
    if options.dry_run:
        return dry_run(specification, [])
    return conclude(launch(specification, options.folder, console, address=options.address), options.folder, console)
