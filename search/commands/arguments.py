"""Arguments that several commands take."""

import argparse
from pathlib import Path


def add_folder(parser: argparse.ArgumentParser, help: str | None = None) -> None:
    parser.add_argument("folder", type=Path, metavar="DIR", help=help)


def add_address(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--address", help="a running Ray cluster: auto or ray://host:port (default: this machine)")


def add_settings(parser: argparse.ArgumentParser, help: str) -> None:
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help=help)


def add_anyway(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--anyway", action="store_true", help="also where data or model are not those of the file")


def add_port(parser: argparse.ArgumentParser, help: str) -> None:
    parser.add_argument("--port", type=port, default=5000, help=help)


def positive(text: str) -> int:
    """A whole number above 0, for an option."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number above 0")
    return int(text)


def port(text: str) -> int:
    """A port that a server may listen to, for an option."""
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise argparse.ArgumentTypeError(f"{text} is not a port: 1 to 65535")
    return int(text)
