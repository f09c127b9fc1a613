"""`job`: follow, stop or fetch a submitted search, or see how it is."""

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from seedwise.errors import RequestError
from seedwise.exit_codes import DONE, FAILED, INTERRUPTED, WRONG
from seedwise.program import called

if TYPE_CHECKING:
    from ray.job_submission import JobDetails, JobSubmissionClient

POLL = 0.5  # seconds between two looks at whether a job has stopped


def add_to(commands: argparse._SubParsersAction) -> None:
    top = commands.add_parser("job", help="follow, stop or fetch a submitted search, or see how it is")
    kinds = top.add_subparsers(metavar="WHAT", required=True)
    for command, help in (
        (follow, "its log until it ends, then its results"),
        (stop, "end it as Ctrl-C would; the same submission goes on with it"),
        (fetch, "its results so far"),
        (status, "whether it runs, and the last line of its log"),
    ):
        parser = kinds.add_parser(command.__name__, help=help)
        parser.add_argument("job", metavar="ID", help="as `submit` said it")
        add_dashboard(parser)
        parser.set_defaults(command=command)


def add_dashboard(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--address", required=True, metavar="URL", help="the dashboard of the head: http://HEAD:8265")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where results are fetched to (default: runs/NAME)")


def follow(options: argparse.Namespace, console: Console) -> int:
    """Show the log of a job until it ends, then bring its results. Ctrl-C leaves it running."""
    from seedwise.search.cluster import jobs
    from seedwise.search.cluster.submit import exit_code

    with jobs.connected(options.address) as client:
        jobs.details(client, options.job)
        try:
            info = jobs.follow(client, options.job, lambda text: print(text, end="", flush=True))
        except KeyboardInterrupt:
            print("\nseedwise: the job goes on without this terminal.", file=sys.stderr)
            say_how(options, "follow", "stop", "fetch", file=sys.stderr)
            return INTERRUPTED
        code = exit_code(info)
        if code == WRONG:
            return code  # its one line is the last of the log, and a search in that folder would be another one
        if info.driver_exit_code is None and code == FAILED:
            print(info.message, file=sys.stderr)  # it did not come as far as a log
        try:
            _bring(client, info, options.out, console)
        except RequestError as error:
            if code == DONE:
                raise
            print(f"seedwise: {error}", file=sys.stderr)
    if code == INTERRUPTED:
        print("seedwise: it was stopped before its end. Submitting the same specification goes on.", file=sys.stderr)
    return code


def stop(options: argparse.Namespace, console: Console) -> int:
    """End a job in such a way that its search can go on, and wait for that."""
    from seedwise.search.cluster import jobs
    from seedwise.search.cluster.submit import search_of

    with jobs.connected(options.address) as client, console.status("it saves what it has"):
        search_of(jobs.details(client, options.job))
        running = client.stop_job(options.job)
        while not (info := client.get_job_info(options.job)).status.is_terminal():
            time.sleep(POLL)
    console.print(f"{options.job}: {'stopped' if running else f'had ended: {info.status.value}'}.", soft_wrap=True)
    say_how(options, "fetch")
    print(f"go on with it: {called('submit')}, with the same specification")
    return DONE


def fetch(options: argparse.Namespace, console: Console) -> int:
    """Bring the results of a job as they are now."""
    from seedwise.search.cluster import jobs

    with jobs.connected(options.address) as client:
        _bring(client, jobs.details(client, options.job), options.out, console)
    return DONE


def status(options: argparse.Namespace, console: Console) -> int:
    """Say whether a job runs, for how long, and what it said last."""
    from seedwise.search.cluster import jobs
    from seedwise.search.cluster.submit import search_of
    from seedwise.text import minutes_in_words

    with jobs.connected(options.address) as client:
        info = jobs.details(client, options.job)
        said = client.get_job_logs(options.job).strip().splitlines()
    _, there, _ = search_of(info)
    minutes = ((info.end_time or time.time() * 1000) - info.start_time) / 60_000
    console.print(f"{options.job}: {info.status.value}, {minutes_in_words(minutes)}, in {there}", soft_wrap=True)
    console.print(*said[-1:], soft_wrap=True)
    return DONE


def _bring(client: "JobSubmissionClient", info: "JobDetails", out: Path | None, console: Console) -> None:
    from seedwise.search.cluster.fetch import fetch as bring
    from seedwise.search.cluster.submit import search_of

    name, there, store = search_of(info)
    out = out or Path("runs") / name
    with console.status("fetching the results"):
        bring(client, there, out)
    console.print(f"fetched {out}; look at it with: {called('report', out)}", soft_wrap=True)
    if store:
        console.print(f"into MLflow here: {called('track', out, '--uri', store)}", soft_wrap=True)


def say_how(options: argparse.Namespace, *commands: str, file: object = None) -> None:
    from seedwise.credentials import mask

    for command in commands:
        out = ("--out", options.out) if options.out and command != "stop" else ()
        line = called("job", command, options.job, "--address", mask(options.address), *out)
        print(f"{command} it: {line}", file=file)
