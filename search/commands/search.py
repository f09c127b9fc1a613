"""Start a search, or continue it."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from seedwise.exit_codes import DONE
from seedwise.imports import importable
from seedwise.search.commands.arguments import add_address, add_settings
from seedwise.search.commands.conclude import conclude

if TYPE_CHECKING:
    from seedwise.search.spec.schema import Specification


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("spec", metavar="SPEC", help="a YAML file, or a built-in name such as demo")
    add_settings(parser, "override one of its keys, e.g. budget.runs=20")
    parser.add_argument("--out", type=Path, metavar="DIR", help="the search folder (default: runs/NAME)")
    add_address(parser)
    earlier = {"dest": "earlier", "action": "append", "default": [], "type": Path, "metavar": "DIR"}
    parser.add_argument("--from", **earlier, help="learn from an earlier search")
    parser.add_argument("--dry-run", action="store_true", help="only print what would be searched")


def run(options: argparse.Namespace, console: Console) -> int:
    from seedwise.search.spec.load import read

    specification = read(options.spec, options.set)
    options.folder = options.out or Path("runs") / specification.name
    if options.dry_run:
        return dry_run(specification, options.earlier)
    from seedwise.search.studies.launch import search

    outcome = search(specification, options.folder, console, address=options.address, earlier_folders=options.earlier)
    return conclude(outcome, options.folder, console, spec=options.spec)


@importable()
def dry_run(specification: "Specification", earlier: list[Path]) -> int:
    """Print the resolved specification, the slots of this machine and the plan; start nothing."""
    from seedwise import yaml12
    from seedwise.credentials import mask
    from seedwise.search.cluster.placement import this_machine
    from seedwise.search.decide.warm_start import read_earlier
    from seedwise.search.studies.study import study_of

    warm = read_earlier(earlier, specification.parts.estimator.selection, specification.parts.resolved["method"])
    print(mask(yaml12.dump(specification.as_dict())), end="")
    placement, slots = this_machine(specification.resources)
    print(f"# slots: {slots} ({placement.cpus} CPU and {placement.gpus:g} GPU per run)")
    for line in study_of(specification).dry_run():
        print(f"# {line}")
    if warm:
        print(f"# from earlier searches: {len(warm)} configurations")
    return DONE
