"""Report on a search so far, in the terminal and as a page: DIR/report.html."""

import argparse

from rich.console import Console

from seedwise.exit_codes import DONE
from seedwise.search.commands.arguments import add_folder
from seedwise.search.commands.conclude import opened

add_arguments = add_folder


def run(options: argparse.Namespace, console: Console) -> int:
    with opened(options.folder) as (study, results):
        study.report(results, options.folder, console)
    return DONE
