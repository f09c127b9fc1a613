"""Follow, stop or fetch a submitted search, or show its status."""

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from seedwise.credentials import mask
from seedwise.errors import RequestError
from seedwise.exit_codes import DONE, FAILED, INTERRUPTED, WRONG
from seedwise.program import called
from seedwise.search.commands.arguments import add_commands

if TYPE_CHECKING:
    from ray.job_submission import JobDetails, JobSubmissionClient

POLL = 0.5  # seconds between two checks whether a job has stopped


def add_arguments(parser: argparse.ArgumentParser) -> None:
    for command in add_commands(parser, follow, stop, fetch, status):
        command.add_argument("job", metavar="ID", help="the id that `submit` printed")
        add_dashboard(command)


def add_dashboard(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--address", required=True, metavar="URL", help="the dashboard of the head: http://HEAD:8265")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where results are fetched to (default: runs/NAME)")


def follow(options: argparse.Namespace, console: Console) -> int:
    """Print the log of a job until the job ends, then fetch the results. Ctrl-C leaves the job running."""
    from seedwise.search.cluster import jobs

    with jobs.connected(options.address) as client:
        jobs.details(client, options.job)
        try:
            info = jobs.follow(client, options.job, lambda text: print(text, end="", flush=True))
        except KeyboardInterrupt:
            print("\nseedwise: the job keeps running without this terminal.", file=sys.stderr)
            print_next_commands(options, "follow", "stop", "fetch", file=sys.stderr)
            return INTERRUPTED
        code = jobs.exit_code(info)
        if code == WRONG:
            return code  # the log ends with the error, and any search in that folder is not of this job
        if info.driver_exit_code is None and code == FAILED:
            print(info.message, file=sys.stderr)  # the job ended before it wrote a log
        try:
            _fetch(client, info, options, console)
        except RequestError as error:
            if code == DONE:
                raise
            print(f"seedwise: {error}", file=sys.stderr)
    if code == INTERRUPTED:
        print("seedwise: the job was stopped early. Submit the same specification to continue.", file=sys.stderr)
    return code


def stop(options: argparse.Namespace, console: Console) -> int:
    """Stop a job as Ctrl-C would and wait for its end; submitting the same specification continues the search."""
    from seedwise.search.cluster import jobs

    with jobs.connected(options.address) as client, console.status("waiting for the job to save its state"):
        jobs.search_of(jobs.details(client, options.job))
        running = client.stop_job(options.job)
        while not (info := client.get_job_info(options.job)).status.is_terminal():
            time.sleep(POLL)
    console.print(f"{options.job}: {'stopped' if running else f'had ended: {info.status.value}'}.", soft_wrap=True)
    print_next_commands(options, "fetch")
    print("to continue it, submit the same specification again")
    return DONE


def fetch(options: argparse.Namespace, console: Console) -> int:
    """Fetch the results of a job so far."""
    from seedwise.search.cluster import jobs

    with jobs.connected(options.address) as client:
        _fetch(client, jobs.details(client, options.job), options, console)
    return DONE


def status(options: argparse.Namespace, console: Console) -> int:
    """Show whether and for how long a job has been running, and the last line of its log."""
    from seedwise.search.cluster import jobs
    from seedwise.text import duration

    with jobs.connected(options.address) as client:
        info = jobs.details(client, options.job)
        log = client.get_job_logs(options.job).strip().splitlines()
    _, remote, _ = jobs.search_of(info)
    seconds = (info.end_time or time.time() * 1000) / 1000 - info.start_time / 1000
    console.print(f"{options.job}: {info.status.value}, {duration(seconds, rough=True)}, in {remote}", soft_wrap=True)
    console.print(*log[-1:], soft_wrap=True)
    return DONE


def _fetch(client: "JobSubmissionClient", info: "JobDetails", options: argparse.Namespace, console: Console) -> None:
    from seedwise.search.cluster.fetch import fetch
    from seedwise.search.cluster.jobs import search_of

    name, remote, store = search_of(info)
    out = options.out or Path("runs") / name
    with console.status("fetching the results"):
        fetch(client, remote, out, log=next_command(options, "follow"))
    console.print(f"fetched {out}; look at it with: {called('report', out)}", soft_wrap=True)
    if store:
        console.print(f"write it into MLflow here: {called('track', out, '--uri', store)}", soft_wrap=True)


def print_next_commands(options: argparse.Namespace, *commands: str, file: object = None) -> None:
    """Print the `job` commands, complete with id and address, that can be typed next."""
    for command in commands:
        print(f"{command} it: {next_command(options, command)}", file=file)


def next_command(options: argparse.Namespace, command: str) -> str:
    out = ("--out", options.out) if options.out and command != "stop" else ()
    return called("job", command, options.job, "--address", mask(options.address), *out)
