"""Show what ran, what is running, and what is left."""

import argparse
from functools import partial

from rich.console import Console

from seedwise.exit_codes import DONE
from seedwise.search.commands.arguments import add_folder

add_arguments = add_folder


def run(options: argparse.Namespace, console: Console) -> int:
    from seedwise.search.ledger.state import read_search
    from seedwise.search.report.status import show
    from seedwise.search.spec.load import recorded
    from seedwise.search.studies.study import study_of

    state = read_search(options.folder)
    with state.own_folder():
        study = study_of(recorded(state))
        parts = study.specification.parts
        words = {"total": parts.total_runs(state), "phase": study.phase(state), "named": partial(study.label, state)}
        show(options.folder, state, parts, console, **words)
    return DONE
