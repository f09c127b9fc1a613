"""Report on a search so far, here and as a page: DIR/report.html."""

import argparse

from rich.console import Console

from seedwise.exit_codes import DONE
from seedwise.search.commands.arguments import add_folder

add_arguments = add_folder


def run(options: argparse.Namespace, console: Console) -> int:
    from seedwise.search.ledger.state import read_search
    from seedwise.search.spec.load import recorded
    from seedwise.search.spec.parts import results_of
    from seedwise.search.studies.study import study_of

    state = read_search(options.folder)
    with state.own_folder():
        study_of(recorded(state)).report(results_of(state), options.folder, console)
    return DONE
