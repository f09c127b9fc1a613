"""The commands about jobs: a search whose driver lives on the cluster, its log, its end, and its results here."""

import argparse
import re
import secrets
import shlex
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from seedwise.errors import RequestError

if TYPE_CHECKING:
    from ray.job_submission import JobDetails, JobSubmissionClient

DONE, FAILED, WRONG, INTERRUPTED = 0, 1, 2, 130  # exit codes, those of a search
ENDING = 120  # seconds beyond checkpoints.grace until a stopped search is killed: MLflow gets its last runs meanwhile
POLL = 0.5  # seconds between two looks at whether a job has stopped


def add_to(commands: argparse._SubParsersAction) -> None:
    """Add `submit` and `job` to the command line."""
    one = commands.add_parser("submit", help="start a search as a job of a Ray cluster (docs/cluster.md)")
    one.add_argument("spec", metavar="SPEC", help="a YAML file, or a built-in name such as demo")
    one.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="override a key of it")
    _add_place(one)
    one.add_argument("--there", metavar="DIR", help="the search folder on the head (default: ~/seedwise/runs/NAME)")
    one.add_argument("--no-wait", action="store_true", help="follow and fetch it later")
    one.set_defaults(command=submit)

    top = commands.add_parser("job", help="follow, stop or fetch a submitted search, or see how it is")
    kinds = top.add_subparsers(metavar="WHAT", required=True)
    for command, help in (
        (follow, "its log until it ends, then its results"),
        (stop, "end it as Ctrl-C would; the same submission goes on with it"),
        (fetch, "its results so far"),
        (status, "whether it runs, and the last line of its log"),
    ):
        one = kinds.add_parser(command.__name__, help=help)
        one.add_argument("job", metavar="ID", help="as `submit` said it")
        _add_place(one)
        one.set_defaults(command=command)


def _add_place(one: argparse.ArgumentParser) -> None:
    one.add_argument("--address", required=True, metavar="URL", help="the dashboard of the head: http://HEAD:8265")
    one.add_argument("--out", type=Path, metavar="DIR", help="where results are fetched to (default: runs/NAME)")


def submit(options: argparse.Namespace, console: Console) -> int:
    """Send a search to the cluster, then follow and fetch it. A search that is there already goes on."""
    from seedwise.search.cluster import package
    from seedwise.search.cluster.fetch import in_shell
    from seedwise.search.cluster.jobs import connected
    from seedwise.search.spec.schema import read

    resolved = read(options.spec, options.set, elsewhere=True).as_dict()
    there = options.there or f"~/seedwise/runs/{resolved['name']}"
    refuse_places(resolved, there, options.out or Path("runs") / resolved["name"])
    store = resolved["tracking"]["uri"]
    local = store if re.match(r"sqlite:///[^/]", store) else ""
    if local:
        resolved["tracking"]["uri"] = "off"  # the cluster cannot write to a file that is here
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "package.zip"
        with console.status("packing"):
            package.write(resolved, path)
        seconds = int(resolved["checkpoints"]["grace"]) + ENDING
        with connected(options.address) as client, console.status("submitting"):
            options.job = client.submit_job(
                entrypoint=f"python -m seedwise search {package.SPECIFICATION} --address auto --out {in_shell(there)}",
                submission_id=f"{resolved['name']}-{secrets.token_hex(4)}",
                runtime_env={
                    "working_dir": str(path),
                    "env_vars": {"RAY_JOB_STOP_WAIT_TIME_S": str(seconds), "COLUMNS": str(console.width)},
                },
                metadata={"seedwise": resolved["name"], "there": there, "store": local},
            )
    console.print(f"submitted {options.job}; its search folder on the head is {there}", soft_wrap=True)
    if not options.no_wait:
        return follow(options, console)
    _say_how(options, "follow", "stop", "fetch")
    return DONE


def refuse_places(resolved: dict, there: str, out: Path) -> None:
    """A job's own folder ends with it: what is to stay needs another place. Results here must not cover anything."""
    kept = {"checkpoints.at": resolved["checkpoints"]["at"], "tracking.artifacts": resolved["tracking"]["artifacts"]}
    places = {key: place for key, place in kept.items() if place and "://" not in place}
    for key, place in {"--there": there, **places}.items():
        if not place.startswith(("/", "~/")):
            raise RequestError(f"{key}: {place} would end with the job. Write an absolute path of the head.")
    taken = out.exists() and (not out.is_dir() or any(out.iterdir()))
    if taken and not (out / "ledger.jsonl").exists():
        raise RequestError(f"{out}: holds something else. Choose where the results go with --out.")


def follow(options: argparse.Namespace, console: Console) -> int:
    """Show the log of a job until it ends, then bring its results. Ctrl-C leaves it running."""
    from seedwise.search.cluster import jobs

    with jobs.connected(options.address) as client:
        jobs.details(client, options.job)
        try:
            info = jobs.follow(client, options.job, lambda text: print(text, end="", flush=True))
        except KeyboardInterrupt:
            print("\nseedwise: the job goes on without this terminal.", file=sys.stderr)
            _say_how(options, "follow", "stop", "fetch", file=sys.stderr)
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


def exit_code(info: "JobDetails") -> int:
    """Of the search that a job ran; one that was stopped was interrupted."""
    ended = {"SUCCEEDED": DONE, "STOPPED": INTERRUPTED}.get(info.status.value)
    known = info.driver_exit_code if info.driver_exit_code in (WRONG, INTERRUPTED) else FAILED
    return known if ended is None else ended


def stop(options: argparse.Namespace, console: Console) -> int:
    """End a job in such a way that its search can go on, and wait for that."""
    from seedwise.search.cluster import jobs

    with jobs.connected(options.address) as client, console.status("it saves what it has"):
        _search_of(jobs.details(client, options.job))
        running = client.stop_job(options.job)
        while not (info := client.get_job_info(options.job)).status.is_terminal():
            time.sleep(POLL)
    console.print(f"{options.job}: {'stopped' if running else f'had ended: {info.status.value}'}.", soft_wrap=True)
    _say_how(options, "fetch")
    print("go on with it: python run_search.py submit, with the same specification")
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
    from seedwise.search.report.live import minutes_in_words

    with jobs.connected(options.address) as client:
        info = jobs.details(client, options.job)
        said = client.get_job_logs(options.job).strip().splitlines()
    _, there, _ = _search_of(info)
    minutes = ((info.end_time or time.time() * 1000) - info.start_time) / 60_000
    console.print(f"{options.job}: {info.status.value}, {minutes_in_words(minutes)}, in {there}", soft_wrap=True)
    console.print(*said[-1:], soft_wrap=True)
    return DONE


def _bring(client: "JobSubmissionClient", info: "JobDetails", out: Path | None, console: Console) -> None:
    from seedwise.search.cluster.fetch import fetch as bring

    name, there, store = _search_of(info)
    out = out or Path("runs") / name
    with console.status("fetching the results"):
        bring(client, there, out)
    console.print(f"fetched {out}; look at it with: python run_search.py report {out}", soft_wrap=True)
    if store:
        console.print(f"into MLflow here: python run_search.py track {out} --uri {store}", soft_wrap=True)


def _search_of(info: "JobDetails") -> tuple[str, str, str]:
    """The name of a job's search, its folder on the head, and the database here that it is meant for, if it is one."""
    about = info.metadata or {}
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", about.get("seedwise", "")) or "there" not in about:
        raise RequestError(f"{info.submission_id}: this job is not a search that `submit` started.")
    return about["seedwise"], about["there"], about.get("store", "")


def _say_how(options: argparse.Namespace, *commands: str, file: object = None) -> None:
    from seedwise.credentials import mask

    out = f" --out {shlex.quote(str(options.out))}" if options.out else ""
    for command in commands:
        where = f"{options.job} --address {mask(options.address)}{out if command != 'stop' else ''}"
        print(f"{command} it: python run_search.py job {command} {where}", file=file)
