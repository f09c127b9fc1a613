"""`track`: write a search into MLflow, or complete what an outage left open."""

import argparse

from rich.console import Console

from seedwise.exit_codes import DONE, FAILED
from seedwise.search.commands.arguments import add_folder


def add_to(commands: argparse._SubParsersAction) -> None:
    parser = commands.add_parser("track", help="write a search into MLflow, or complete what an outage left open")
    add_folder(parser)
    parser.add_argument("--uri", default="", help="a store of your choice (default: that of the search)")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace, console: Console) -> int:
    from rich.progress import Progress

    from seedwise.search.ledger.state import read_search
    from seedwise.search.tracking.follower import mask
    from seedwise.search.tracking.follower import track as write

    search = read_search(options.folder).search
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("writing to MLflow", total=None)
        trouble = write(options.folder, options.uri, lambda done, total: bar.update(task, completed=done, total=total))
    where = mask(options.uri or search["specification"]["tracking"]["uri"])
    if trouble:
        console.print(f"MLflow at {where} is incomplete: {trouble}. The same command goes on.", soft_wrap=True)
        return FAILED
    console.print(f"{search['name']} is in {where}, complete.", soft_wrap=True)
    return DONE
