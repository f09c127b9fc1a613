"""The command line: finds the command, runs it, and turns errors into one line and an exit code."""

import argparse
import sys

from rich.console import Console

import seedwise
from seedwise.errors import RequestError, SearchError
from seedwise.exit_codes import FAILED, INTERRUPTED, WRONG
from seedwise.folder import LEDGER
from seedwise.program import called
from seedwise.search.commands import (
    compare,
    export,
    job,
    landscape,
    report,
    resume,
    run,
    search,
    status,
    submit,
    track,
    ui,
    vectors,
)

COMMANDS = (search, resume, status, compare, report, export, run, landscape, submit, job, vectors, track, ui)


def main(arguments: list[str] | None = None) -> int:
    """Run one command; the return value is the exit code."""
    options = parser().parse_args(arguments)
    console = Console(markup=False, emoji=False, highlight=False)  # a path or an error may hold [brackets]
    try:
        return options.command(options, console)
    except RequestError as error:
        print(f"seedwise: {error}", file=sys.stderr)
        return WRONG
    except SearchError as error:
        print(f"seedwise: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        folder = getattr(options, "folder", None)
        begun = folder is not None and (folder / LEDGER).exists()
        again = f" Go on with: {called('resume', folder)}" if begun else ""
        print(f"seedwise: interrupted.{again}", file=sys.stderr)
        return INTERRUPTED


def parser() -> argparse.ArgumentParser:
    """The whole command line. Command modules import what they need when they run, so that this is instant."""
    top = argparse.ArgumentParser(
        prog="seedwise",
        description="Seed-aware hyperparameter search for zero-shot cross-lingual transfer. "
        "Without a command it runs the embedded demo.",
    )
    top.add_argument("--version", action="version", version=f"seedwise {seedwise.__version__}")
    top.set_defaults(command=search.run, spec="demo", set=[], out=None, address=None, dry_run=False, earlier=[])
    commands = top.add_subparsers(metavar="COMMAND")
    for command in COMMANDS:
        command.add_to(commands)
    return top
