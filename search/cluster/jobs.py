"""Ray's jobs over HTTP: a connection to the head of a cluster, and the log of a running job."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from seedwise.credentials import mask
from seedwise.errors import RequestError, SearchError
from seedwise.process import environment, quiet

if TYPE_CHECKING:
    from ray.job_submission import JobDetails, JobSubmissionClient

ATTEMPTS, PAUSE_SECONDS = 30, 2.0  # to connect again, and between two of them
TOKEN = "RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH"


@contextlib.contextmanager
def connected(address: str) -> Iterator["JobSubmissionClient"]:
    """The jobs of a cluster. Errors of the connection inside the block become one line."""
    where = f"--address {mask(address)}"
    if not address.startswith(("http://", "https://")):
        raise RequestError(where, "jobs go to the dashboard of the head", "Write http://HEAD:8265.")
    try:
        import aiohttp  # which Ray imports only to follow a log
        from ray.exceptions import AuthenticationError
        from ray.job_submission import JobSubmissionClient
    except ImportError as error:
        raise RequestError(where, f"Ray's jobs need {error.name}", "Install it: pip install 'ray[default]'.") from error
    loggers = [f"ray.dashboard.modules.{name}" for name in ("dashboard_sdk", "job.sdk")]
    others = {"RAY_ADDRESS": None, "RAY_API_SERVER_ADDRESS": None}  # Ray would prefer them to `address`
    try:
        with quiet(logging.WARNING, *loggers), environment(others):
            yield JobSubmissionClient(address)
    except AuthenticationError as error:
        raise RequestError(where, "this cluster needs another token", f"Set {TOKEN}.") from error
    except (OSError, aiohttp.ClientError) as error:
        raise RequestError(where, "no answer", "Name the dashboard of a head that runs.") from error
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
    """Write the log of a job until it ends, and return how it ended. A lost connection is made again."""
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
