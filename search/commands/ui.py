"""`ui`: MLflow's pages on the right store."""

import argparse
from pathlib import Path

from rich.console import Console

from seedwise.errors import RequestError
from seedwise.exit_codes import DONE
from seedwise.folder import LEDGER
from seedwise.search.commands.arguments import add_port

DEFAULT_STORE = "sqlite:///runs/mlflow.db"


def add_to(commands: argparse._SubParsersAction) -> None:
    parser = commands.add_parser("ui", help="MLflow's pages on the right store, on 127.0.0.1")
    parser.add_argument("folder", type=Path, metavar="DIR", nargs="?", help="a search folder (default: runs/mlflow.db)")
    add_port(parser, "of the server (default: 5000)")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace, console: Console) -> int:
    from seedwise.search.ledger.state import read
    from seedwise.search.tracking.follower import address_of
    from seedwise.search.tracking.mlflow_ui import Pages, serve

    search = read(options.folder / LEDGER).search if options.folder else {}
    if options.folder and not search:
        raise RequestError(f"{options.folder}: there is no search here.")
    pages = Pages(address_of(search["specification"]["tracking"]["uri"] if search else DEFAULT_STORE), options.port)
    links = {"configurations, highest mean first": pages.experiment(search["name"])} if search else {}
    serve(pages, links | {"all searches": pages.server}, console)
    return DONE
