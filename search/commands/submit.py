"""Start a search as a job of a Ray cluster (docs/cluster.md)."""

import argparse
from pathlib import Path

from rich.console import Console

from seedwise.exit_codes import DONE
from seedwise.search.commands import job
from seedwise.search.commands.arguments import add_renamed, add_settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("spec", metavar="SPEC", help="a YAML file, or a built-in name such as demo")
    add_settings(parser, "override one of its keys")
    job.add_dashboard(parser)
    folder = "the search folder on the head (default: ~/seedwise/runs/NAME)"
    add_renamed(parser, "--there", "--remote-dir", metavar="DIR", help=folder)
    parser.add_argument("--no-wait", action="store_true", help="return at once; follow and fetch it later")


def run(options: argparse.Namespace, console: Console) -> int:
    """Send a search to the cluster, then follow and fetch it. A search that has begun there is continued."""
    from seedwise.search.cluster.jobs import check_folders, submit
    from seedwise.search.spec.load import read

    specification = read(options.spec, options.set, elsewhere=True)
    remote = options.remote_dir or f"~/seedwise/runs/{specification.name}"
    check_folders(specification, remote, options.out or Path("runs") / specification.name)
    options.job = submit(specification, remote, options.address, console)
    console.print(f"submitted {options.job}; its search folder on the head is {remote}", soft_wrap=True)
    if not options.no_wait:
        return job.follow(options, console)
    job.print_next_commands(options, "follow", "stop", "fetch")
    return DONE
