"""`resume`: go on with a search after any interruption."""

import argparse

from rich.console import Console

from seedwise.search.commands.arguments import add_address, add_folder, add_settings
from seedwise.search.commands.conclude import conclude


def add_to(commands: argparse._SubParsersAction) -> None:
    parser = commands.add_parser("resume", help="go on after any interruption")
    add_folder(parser)
    add_address(parser)
    add_settings(parser, "go on with another sampler: sampler=tpe")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace, console: Console) -> int:
    from seedwise.search.studies.launch import resume

    outcome = resume(options.folder, console, address=options.address, settings=options.set)
    return conclude(outcome, options.folder, console)
