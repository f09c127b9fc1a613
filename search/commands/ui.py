"""Serve MLflow's pages for the store of a search, on 127.0.0.1."""

import argparse
from pathlib import Path

from rich.console import Console

from seedwise.exit_codes import DONE
from seedwise.search.commands.arguments import add_port

DEFAULT_STORE = "sqlite:///runs/mlflow.db"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="DIR", nargs="?", help="a search folder (default: runs/mlflow.db)")
    add_port(parser, "of the server (default: 5000)")


def run(options: argparse.Namespace, console: Console) -> int:
    from seedwise.search.ledger.file import read_search
    from seedwise.search.tracking.mlflow_sink import for_mlflow
    from seedwise.search.tracking.mlflow_ui import Pages, serve
    from seedwise.search.tracking.trackers import address_of

    search = read_search(options.folder).search if options.folder else {}
    uri = search["specification"]["tracking"]["uri"] if search else DEFAULT_STORE
    with for_mlflow():
        pages = Pages(address_of(uri), options.port)
        links = {"configurations, highest mean first": pages.experiment(search["name"])} if search else {}
        serve(pages, links | {"all searches": pages.server}, console)
    return DONE
