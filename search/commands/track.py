"""Write a search into MLflow, or complete what an outage left open."""

import argparse

from rich.console import Console

from seedwise.credentials import mask
from seedwise.exit_codes import DONE, FAILED
from seedwise.search.commands.arguments import add_folder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument("--uri", default="", help="another MLflow store (default: that of the search)")


def run(options: argparse.Namespace, console: Console) -> int:
    from rich.progress import Progress

    from seedwise.search.ledger.file import read_search
    from seedwise.search.tracking.follower import track
    from seedwise.search.tracking.trackers import tracker_of

    search = read_search(options.folder).search
    uri = options.uri or search["specification"]["tracking"]["uri"]
    tracker, where = tracker_of(uri).name, mask(uri)
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task(f"writing to {tracker}", total=None)
        trouble = track(options.folder, options.uri, lambda done, total: bar.update(task, completed=done, total=total))
    if trouble:
        console.print(f"{tracker} at {where} is incomplete: {trouble}. The same command continues.", soft_wrap=True)
        return FAILED
    console.print(f"{search['name']} is in {where}, complete.", soft_wrap=True)
    return DONE
