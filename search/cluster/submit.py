"""Submit a search as a Ray job: its driver then runs on the cluster."""

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

STOP_SECONDS = 120  # beyond checkpoints.grace, until a stopped search is killed: time to write to MLflow


def submit(resolved: dict, remote_dir: str, address: str, console: Console) -> str:
    """Send a resolved specification, its files and our code. Returns the job's id; it writes to `remote_dir`."""
    store = resolved["tracking"]["uri"]
    local = store if re.match(r"sqlite:///[^/]", store) else ""
    if local:
        resolved["tracking"]["uri"] = "off"  # the cluster cannot write to a local file
    command = f"python -m seedwise search {package.SPECIFICATION} --address auto --out {in_shell(remote_dir)}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "package.zip"
        with console.status("packing"):
            package.write(resolved, path)
        seconds = int(resolved["checkpoints"]["grace"]) + STOP_SECONDS
        with connected(address) as client, console.status("submitting"):
            return client.submit_job(
                entrypoint=command,
                submission_id=f"{resolved['name']}-{secrets.token_hex(4)}",
                runtime_env={
                    "working_dir": str(path),
                    "env_vars": {"RAY_JOB_STOP_WAIT_TIME_S": str(seconds), "COLUMNS": str(console.width)},
                },
                metadata={"seedwise": resolved["name"], "there": remote_dir, "store": local},
            )


def check_folders(resolved: dict, remote_dir: str, out: Path) -> None:
    """Refuse folders below that of the job, which is deleted when it ends, and an `out` that holds something else."""
    kept = {
        "checkpoints.path": resolved["checkpoints"]["path"],
        "tracking.artifacts": resolved["tracking"]["artifacts"],
    }
    local = {key: path for key, path in kept.items() if path and "://" not in path}
    for key, path in {"--remote-dir": remote_dir, **local}.items():
        if not path.startswith(("/", "~/")):
            raise RequestError(key, f"{path} would be deleted with the job", "Write an absolute path of the head.")
    taken = out.exists() and (not out.is_dir() or any(out.iterdir()))
    if taken and not (out / LEDGER).exists():
        raise RequestError(str(out), "holds something else", "Choose where the results go with --out.")


def exit_code(info: "JobDetails") -> int:
    """The exit code of the search that a job ran. A job that was stopped was interrupted."""
    failed = info.driver_exit_code if info.driver_exit_code in (WRONG, INTERRUPTED) else FAILED
    return {"SUCCEEDED": DONE, "STOPPED": INTERRUPTED}.get(info.status.value, failed)


def search_of(info: "JobDetails") -> tuple[str, str, str]:
    """The name of a job's search, its folder on the head, and the local MLflow database for its results, if any."""
    about = info.metadata or {}
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", about.get("seedwise", "")) or "there" not in about:
        raise RequestError(info.submission_id, "this job is not a search that `submit` started")
    return about["seedwise"], about["there"], about.get("store", "")
