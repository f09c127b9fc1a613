"""A search whose driver lives on a cluster: sent there as a job of Ray."""

import re
import secrets
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from seedwise.errors import RequestError
from seedwise.exit_codes import DONE, FAILED, INTERRUPTED, WRONG
from seedwise.folder import LEDGER
from seedwise.search.cluster import package
from seedwise.search.cluster.fetch import in_shell
from seedwise.search.cluster.jobs import connected

if TYPE_CHECKING:
    from ray.job_submission import JobDetails

ENDING = 120  # seconds beyond checkpoints.grace until a stopped search is killed: MLflow gets its last runs meanwhile


def submit(resolved: dict, there: str, address: str, console: Console) -> str:
    """Send a resolved specification, its files and our code; the id of the job. Its search folder is `there`."""
    store = resolved["tracking"]["uri"]
    local = store if re.match(r"sqlite:///[^/]", store) else ""
    if local:
        resolved["tracking"]["uri"] = "off"  # the cluster cannot write to a file that is here
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "package.zip"
        with console.status("packing"):
            package.write(resolved, path)
        seconds = int(resolved["checkpoints"]["grace"]) + ENDING
        with connected(address) as client, console.status("submitting"):
            return client.submit_job(
                entrypoint=f"python -m seedwise search {package.SPECIFICATION} --address auto --out {in_shell(there)}",
                submission_id=f"{resolved['name']}-{secrets.token_hex(4)}",
                runtime_env={
                    "working_dir": str(path),
                    "env_vars": {"RAY_JOB_STOP_WAIT_TIME_S": str(seconds), "COLUMNS": str(console.width)},
                },
                metadata={"seedwise": resolved["name"], "there": there, "store": local},
            )


def refuse_places(resolved: dict, there: str, out: Path) -> None:
    """A job's own folder ends with it: what is to stay needs another place. Results here must not cover anything."""
    kept = {
        "checkpoints.path": resolved["checkpoints"]["path"],
        "tracking.artifacts": resolved["tracking"]["artifacts"],
    }
    places = {key: place for key, place in kept.items() if place and "://" not in place}
    for key, place in {"--remote-dir": there, **places}.items():
        if not place.startswith(("/", "~/")):
            raise RequestError(key, f"{place} would end with the job", "Write an absolute path of the head.")
    taken = out.exists() and (not out.is_dir() or any(out.iterdir()))
    if taken and not (out / LEDGER).exists():
        raise RequestError(str(out), "holds something else", "Choose where the results go with --out.")


def exit_code(info: "JobDetails") -> int:
    """Of the search that a job ran; one that was stopped was interrupted."""
    ended = {"SUCCEEDED": DONE, "STOPPED": INTERRUPTED}.get(info.status.value)
    known = info.driver_exit_code if info.driver_exit_code in (WRONG, INTERRUPTED) else FAILED
    return known if ended is None else ended


def search_of(info: "JobDetails") -> tuple[str, str, str]:
    """The name of a job's search, its folder on the head, and the database here that it is meant for, if it is one."""
    about = info.metadata or {}
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", about.get("seedwise", "")) or "there" not in about:
        raise RequestError(info.submission_id, "this job is not a search that `submit` started")
    return about["seedwise"], about["there"], about.get("store", "")
