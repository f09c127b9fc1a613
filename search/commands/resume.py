"""Continue a search after any interruption."""

import argparse

from rich.console import Console

from seedwise.search.commands.arguments import add_address, add_folder, add_settings
from seedwise.search.commands.conclude import conclude


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add_address(parser)
    add_settings(parser, "continue with another sampler: sampler=tpe")


def run(options: argparse.Namespace, console: Console) -> int:
    from seedwise.search.studies.launch import resume

    outcome = resume(options.folder, console, address=options.address, settings=options.set)
    return conclude(outcome, options.folder, console)
