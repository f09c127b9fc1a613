"""The command line: finds the command, runs it, and turns errors into one line and an exit code."""

import argparse
import sys
from importlib import import_module

from rich.console import Console

import seedwise
from seedwise.errors import RequestError, SearchError
from seedwise.exit_codes import FAILED, INTERRUPTED, WRONG
from seedwise.folder import LEDGER
from seedwise.program import called

COMMANDS = ("search", "resume", "status", "compare", "report", "export", "run", "landscape", "submit", "job", "vectors")
COMMANDS += ("track", "ui")


def main(arguments: list[str] | None = None) -> int:
    """Run one command; the return value is the exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    options = parser().parse_args(arguments or ["search", "demo"])
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
    """The parser of all commands. Commands import most modules when they run, so that this is instant."""
    top = argparse.ArgumentParser(
        prog="seedwise",
        description="Seed-aware hyperparameter search for zero-shot cross-lingual transfer. "
        "Without a command it runs the embedded demo.",
    )
    top.add_argument("--version", action="version", version=f"seedwise {seedwise.__version__}")
    commands = top.add_subparsers(metavar="COMMAND")
    for name in COMMANDS:
        module = import_module(f"seedwise.search.commands.{name}")
        command = commands.add_parser(name, help=module.__doc__)
        command.set_defaults(command=getattr(module, "run", None))  # `job` and `vectors` have subcommands instead
        module.add_arguments(command)
    return top
