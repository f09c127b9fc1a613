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
    except (RequestError, SearchError) as error:
        print(f"seedwise: {error}", file=sys.stderr)
        return WRONG if isinstance(error, RequestError) else FAILED
    except KeyboardInterrupt:
        folder = getattr(options, "folder", None)
        begun = folder is not None and (folder / LEDGER).exists()
        resume = f" Continue with: {called('resume', folder)}" if begun else ""
        print(f"seedwise: interrupted.{resume}", file=sys.stderr)
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
        one = commands.add_parser(command.__name__.rpartition(".")[2], help=command.__doc__)
        one.set_defaults(command=getattr(command, "run", None))  # `job` and `vectors` have commands of their own
        command.add_arguments(one)
    return top
