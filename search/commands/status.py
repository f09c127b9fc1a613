"""Show what ran, what is running, and what is left."""

import argparse
from functools import partial

from rich.console import Console

from seedwise.exit_codes import DONE
from seedwise.search.commands.arguments import add_folder
from seedwise.search.commands.conclude import opened

add_arguments = add_folder


def run(options: argparse.Namespace, console: Console) -> int:
    from seedwise.search.report.status import show

    with opened(options.folder) as (study, results):
        state = results.state
        words = {"total": study.total_runs(state), "phase": study.phase(state), "named": partial(study.label, state)}
        show(options.folder, state, study.specification.parts, console, **words)
    return DONE
