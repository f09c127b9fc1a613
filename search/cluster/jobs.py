"""Ray's jobs over HTTP: a connection to the head of a cluster, and the log of a job as it is written."""

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

ATTEMPTS, PAUSE = 30, 2.0  # how often a lost connection is tried again, and the seconds in between
TOKEN = "RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH"


@contextlib.contextmanager
def connected(address: str) -> Iterator["JobSubmissionClient"]:
    """The jobs of a cluster. What goes wrong with them inside the block is one line."""
    where = f"--address {mask(address)}"
    if not address.startswith(("http://", "https://")):
        raise RequestError(where, "jobs go to the dashboard of the head", "Write http://HEAD:8265.")
    try:
        import aiohttp  # Ray does without it until a log is followed
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
        raise RequestError(where, "this cluster wants another token", f"Set {TOKEN}.") from error
    except (OSError, aiohttp.ClientError) as error:
        raise RequestError(where, "no answer", "Name the dashboard of a head that runs.") from error
    except RuntimeError as error:  # what Ray answers to a request that it cannot fulfil
        reason = mask(str(error)).strip().splitlines()[-1][:300].rstrip(".")
        raise RequestError(where, reason) from error


def details(client: "JobSubmissionClient", job: str) -> "JobDetails":
    """What the cluster knows of a job."""
    for known in client.list_jobs():
        if known.submission_id == job:
            return known
    problem = "this cluster has no such job, or was restarted since"
    raise RequestError(job, problem, "Submit the same specification to go on with it.")


def follow(client: "JobSubmissionClient", job: str, write: Callable[[str], None]) -> "JobDetails":
    """Write the log of a job from its beginning until it ends; how it ended. A connection that drops is made anew."""
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
                raise SearchError(f"{job}: the cluster does not answer any more. Follow it when it does.") from error
        time.sleep(PAUSE)
