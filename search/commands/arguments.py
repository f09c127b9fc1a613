"""Arguments that several commands take, and options that have been renamed."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path


def add_commands(parser: argparse.ArgumentParser, *commands: Callable) -> list[argparse.ArgumentParser]:
    """Add a subcommand, such as `job stop`, for each function, whose docstring is the help. Returns the parsers."""
    below = parser.add_subparsers(metavar="COMMAND", required=True)
    parsers = [below.add_parser(command.__name__, help=command.__doc__) for command in commands]
    for added, command in zip(parsers, commands, strict=True):
        added.set_defaults(command=command)
    return parsers


def add_folder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="DIR", help="a search folder")


def add_address(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--address", help="a running Ray cluster: auto or ray://host:port (default: this machine)")


def add_settings(parser: argparse.ArgumentParser, help: str) -> None:
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help=help)


def add_allow_changed_inputs(parser: argparse.ArgumentParser) -> None:
    about = "run even if the data or the model differ from those of the file"
    add_renamed(parser, "--anyway", "--allow-changed-inputs", action="store_true", help=about)


def add_port(parser: argparse.ArgumentParser, help: str) -> None:
    parser.add_argument("--port", type=port, default=5000, help=help)


def add_renamed(parser: argparse.ArgumentParser, former: str, name: str, **settings: object) -> None:
    """Add the option `name`. Its `former` name still works, with a line of advice, and is hidden from --help."""
    option = parser.add_argument(name, **settings)

    class Former(type(option)):
        def __call__(self, *arguments: object) -> None:
            print(f"seedwise: {former} is now called {name}", file=sys.stderr)
            super().__call__(*arguments)

    parser.add_argument(former, **settings | {"dest": option.dest, "action": Former, "help": argparse.SUPPRESS})


def positive(text: str) -> int:
    """A whole number above 0, for an option."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number above 0")
    return int(text)


def port(text: str) -> int:
    """A port that a server may listen on, for an option."""
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise argparse.ArgumentTypeError(f"{text} is not a port: 1 to 65535")
    return int(text)
