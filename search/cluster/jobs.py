"""Runs searches as jobs of a Ray cluster, over HTTP: submits a search, follows its log, reads how it ended."""

import asyncio
import contextlib
import logging
import re
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from seedwise.credentials import mask
from seedwise.errors import RequestError, SearchError
from seedwise.exit_codes import DONE, FAILED, INTERRUPTED, WRONG
from seedwise.folder import LEDGER
from seedwise.process import environment, quiet
from seedwise.search.cluster import package
from seedwise.search.cluster.fetch import in_shell
from seedwise.search.cluster.ray_internals import JOB_LOGGERS
from seedwise.search.spec.schema import Specification

if TYPE_CHECKING:
    from ray.job_submission import JobDetails, JobSubmissionClient

ATTEMPTS, PAUSE_SECONDS = 30, 2.0  # attempts to reconnect, and the pause between two attempts
STOP_SECONDS = 120  # added to checkpoints.grace before a stopped search is killed: time to write to MLflow
TOKEN = "RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH"


@contextlib.contextmanager
def connected(address: str) -> Iterator["JobSubmissionClient"]:
    """Yield a client for the jobs of a cluster. Connection errors in the block become one line."""
    where = f"--address {mask(address)}"
    if not address.startswith(("http://", "https://")):
        raise RequestError(where, "jobs go to the dashboard of the head", "Write http://HEAD:8265.")
    try:
        import aiohttp  # which Ray imports only to follow a log
        from ray.exceptions import AuthenticationError
        from ray.job_submission import JobSubmissionClient
    except ImportError as error:
        raise RequestError(where, f"Ray's jobs need {error.name}", "Install it: pip install 'ray[default]'.") from error
    unset = {"RAY_ADDRESS": None, "RAY_API_SERVER_ADDRESS": None}  # Ray would prefer these variables to `address`
    try:
        with quiet(logging.WARNING, *JOB_LOGGERS), environment(unset):
            yield JobSubmissionClient(address)
    except AuthenticationError as error:
        raise RequestError(where, "this cluster needs another token", f"Set {TOKEN}.") from error
    except (OSError, aiohttp.ClientError) as error:
        raise RequestError(where, "no answer", "Name the dashboard of a running head node.") from error
    except RuntimeError as error:  # Ray's answer to a request that failed
        reason = mask(str(error)).strip().splitlines()[-1][:300].rstrip(".")
        raise RequestError(where, reason) from error


def details(client: "JobSubmissionClient", job: str) -> "JobDetails":
    for known in client.list_jobs():
        if known.submission_id == job:
            return known
    problem = "this cluster has no such job, or was restarted since"
    raise RequestError(job, problem, "Submit the same specification to continue.")


def follow(client: "JobSubmissionClient", job: str, write: Callable[[str], None]) -> "JobDetails":
    """Pass the log of a job to `write` until the job ends, and return its details. Reconnects if necessary."""
    import aiohttp

    written = failures = 0

    async def tail() -> None:
        nonlocal written, failures
        known = written
        async for text in client.tail_job_logs(job):
            new, known = text[known:], max(0, known - len(text))
            written, failures = written + len(new), 0
            write(new)

    while True:
        try:
            asyncio.run(tail())
            info = client.get_job_info(job)
            if info.status.is_terminal():
                return info
        except (OSError, RuntimeError, aiohttp.ClientError) as error:
            failures += 1
            if failures > ATTEMPTS:
                raise SearchError(f"{job}: the cluster no longer answers. Follow the job when it does.") from error
        time.sleep(PAUSE_SECONDS)


def submit(specification: Specification, remote_dir: str, address: str, console: Console) -> str:
    """Submit a specification, its files and this code as a job that writes to `remote_dir`. Returns the job's id."""
    store = specification.tracking.uri
    local = store if re.match(r"sqlite:///[^/]", store) else ""
    if local:
        off = specification.tracking.model_copy(update={"uri": "off"})  # the cluster cannot write to a local file
        specification = specification.model_copy(update={"tracking": off})
    command = f"python -m seedwise search {package.SPECIFICATION} --address auto --out {in_shell(remote_dir)}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "package.zip"
        with console.status("packing"):
            package.write(specification, path)
        seconds = int(specification.checkpoints.grace) + STOP_SECONDS
        with connected(address) as client, console.status("submitting"):
            return client.submit_job(
                entrypoint=command,
                submission_id=f"{specification.name}-{secrets.token_hex(4)}",
                runtime_env={
                    "working_dir": str(path),
                    "env_vars": {"RAY_JOB_STOP_WAIT_TIME_S": str(seconds), "COLUMNS": str(console.width)},
                },
                metadata={"seedwise": specification.name, "there": remote_dir, "store": local},
            )


def check_folders(specification: Specification, remote_dir: str, out: Path) -> None:
    """Refuse relative folders, which would be deleted with the job, and an `out` that holds anything but a search."""
    kept = {
        "checkpoints.path": specification.checkpoints.path,
        "tracking.artifacts": specification.tracking.artifacts,
    }
    local = {key: path for key, path in kept.items() if path and "://" not in path}
    for key, path in {"--remote-dir": remote_dir, **local}.items():
        if not path.startswith(("/", "~/")):
            raise RequestError(key, f"{path} would be deleted with the job", "Write an absolute path on the head.")
    taken = out.exists() and (not out.is_dir() or any(out.iterdir()))
    if taken and not (out / LEDGER).exists():
        raise RequestError(str(out), "holds something else", "Choose where the results go with --out.")


def exit_code(info: "JobDetails") -> int:
    """The exit code of the search that a job ran. A stopped job counts as interrupted."""
    failed = info.driver_exit_code if info.driver_exit_code in (WRONG, INTERRUPTED) else FAILED
    return {"SUCCEEDED": DONE, "STOPPED": INTERRUPTED}.get(info.status.value, failed)


def search_of(info: "JobDetails") -> tuple[str, str, str]:
    """The name of a job's search, its folder on the head, and the local MLflow database for its results, if any."""
    about = info.metadata or {}
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", about.get("seedwise", "")) or "there" not in about:
        raise RequestError(info.submission_id, "this job is not a search that `submit` started")
    return about["seedwise"], about["there"], about.get("store", "")
