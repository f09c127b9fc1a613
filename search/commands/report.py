"""`report`: what was found, here and as one page."""

import argparse

from rich.console import Console

from seedwise.errors import RequestError
from seedwise.exit_codes import DONE
from seedwise.folder import LEDGER
from seedwise.search.commands.arguments import add_folder
from seedwise.search.commands.conclude import whole_search


def add_to(commands: argparse._SubParsersAction) -> None:
    parser = commands.add_parser("report", help="what was found, here and as one page: DIR/report.html")
    add_folder(parser)
    parser.set_defaults(command=run)


def run(options: argparse.Namespace, console: Console) -> int:
    from seedwise.search.ledger.state import read
    from seedwise.search.report.findings import Findings
    from seedwise.search.report.terminal import show
    from seedwise.search.spec.parts import standing_of
    from seedwise.search.studies.landscape_files import write_again
    from seedwise.search.studies.report import write_report

    if (known := read(options.folder / LEDGER)).search and known.search["specification"]["landscape"]:
        write_again(known, options.folder, console)
        return DONE
    state = whole_search(options.folder, "Report on")
    found = Findings(state, standing_of(state.search["specification"]))
    show(found, options.folder, console)
    try:
        path = write_report(found, options.folder, ended=state.finished)
    except OSError as error:
        raise RequestError(f"{options.folder}/report.html: {error.strerror}. Make room for it there.") from error
    console.print(f"wrote {path}", soft_wrap=True)
    return DONE
