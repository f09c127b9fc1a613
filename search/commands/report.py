"""`report`: what was found, here and as one page."""

import argparse

from rich.console import Console

from seedwise.exit_codes import DONE
from seedwise.search.commands.arguments import add_folder


def add_to(commands: argparse._SubParsersAction) -> None:
    parser = commands.add_parser("report", help="what was found, here and as one page: DIR/report.html")
    add_folder(parser)
    parser.set_defaults(command=run)


def run(options: argparse.Namespace, console: Console) -> int:
    from seedwise.search.ledger.state import read_search
    from seedwise.search.spec.load import recorded
    from seedwise.search.spec.parts import results_of
    from seedwise.search.studies.study import study_of

    state = read_search(options.folder)
    study_of(recorded(state)).report(results_of(state), options.folder, console)
    return DONE
