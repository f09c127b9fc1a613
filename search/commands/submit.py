"""`submit`: start a search as a job of a Ray cluster."""

import argparse
from pathlib import Path

from rich.console import Console

from seedwise.exit_codes import DONE
from seedwise.search.commands import job
from seedwise.search.commands.arguments import add_settings


def add_to(commands: argparse._SubParsersAction) -> None:
    parser = commands.add_parser("submit", help="start a search as a job of a Ray cluster (docs/cluster.md)")
    parser.add_argument("spec", metavar="SPEC", help="a YAML file, or a built-in name such as demo")
    add_settings(parser, "override a key of it")
    job.add_dashboard(parser)
    parser.add_argument("--there", metavar="DIR", help="the search folder on the head (default: ~/seedwise/runs/NAME)")
    parser.add_argument("--no-wait", action="store_true", help="follow and fetch it later")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace, console: Console) -> int:
    """Send a search to the cluster, then follow and fetch it. A search that is there already goes on."""
    from seedwise.search.cluster.submit import refuse_places, submit
    from seedwise.search.spec.load import read

    resolved = read(options.spec, options.set, elsewhere=True).as_dict()
    there = options.there or f"~/seedwise/runs/{resolved['name']}"
    refuse_places(resolved, there, options.out or Path("runs") / resolved["name"])
    options.job = submit(resolved, there, options.address, console)
    console.print(f"submitted {options.job}; its search folder on the head is {there}", soft_wrap=True)
    if not options.no_wait:
        return job.follow(options, console)
    job.say_how(options, "follow", "stop", "fetch")
    return DONE
