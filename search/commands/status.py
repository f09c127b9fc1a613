"""`status`: what ran, what runs, what is left."""

import argparse

from rich.console import Console

from seedwise.exit_codes import DONE
from seedwise.search.commands.arguments import add_folder


def add_to(commands: argparse._SubParsersAction) -> None:
    parser = commands.add_parser("status", help="what ran, what runs, what is left")
    add_folder(parser)
    parser.set_defaults(command=run)


def run(options: argparse.Namespace, console: Console) -> int:
    from seedwise.search.report.status import show

    show(options.folder, console)
    return DONE
