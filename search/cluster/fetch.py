"""Fetches the results of a submitted search. Uses only the port that jobs are submitted to."""

import base64
import contextlib
import hashlib
import io
import os
import re
import secrets
import shlex
import shutil
import tarfile
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from seedwise.errors import RequestError
from seedwise.folder import LEDGER
from seedwise.search.cluster import pack_on_head
from seedwise.search.ledger.file import busy

if TYPE_CHECKING:
    from ray.job_submission import JobSubmissionClient

LINE = re.compile(rf"^{pack_on_head.MARK} ([0-9a-f]{{64}}) ([A-Za-z0-9+/=]+)$", re.MULTILINE)
POLL_SECONDS = 0.3


def fetch(client: "JobSubmissionClient", remote_dir: str, out: Path, log: str) -> None:
    """Copy `remote_dir` of the head to `out`, without checkpoints and models. The search may still be running.

    A short job on the head prints the folder as an archive into its log, which is read here. `log` is the command
    that prints the log of the search, for errors.
    """
    source = Path(pack_on_head.__file__).read_text(encoding="utf-8")
    job = client.submit_job(
        entrypoint=f"python -c {shlex.quote(source)} {in_shell(remote_dir)}",
        submission_id=f"fetch-{secrets.token_hex(4)}",
    )
    while not (info := client.get_job_info(job)).status.is_terminal():
        time.sleep(POLL_SECONDS)
    if info.driver_exit_code == pack_on_head.NO_SEARCH:
        raise RequestError(remote_dir, "this folder of the head has no search yet", f"The log says why: {log}")
    if info.driver_exit_code != 0:
        problem = f"the cluster could not pack this folder: {info.message.strip().splitlines()[-1]}"
        raise RequestError(remote_dir, problem, "Try again.")
    line = LINE.search(client.get_job_logs(job))
    client.delete_job(job)  # from the list of jobs
    archive = base64.b64decode(line[2]) if line else b""
    if not line or hashlib.sha256(archive).hexdigest() != line[1]:
        raise RequestError(remote_dir, "the archive arrived incomplete", "Try again.")
    unpack(archive, out)


def in_shell(folder: str) -> str:
    """Quote a folder of the head for the shell of the head; a leading ~ becomes $HOME, which that shell expands."""
    return f'"$HOME"/{shlex.quote(folder[2:])}' if folder.startswith("~/") else shlex.quote(folder)


def unpack(archive: bytes, out: Path) -> None:
    """Unpack a search folder to `out`, which must be new or hold an earlier state of the same search.

    Other files in `out` stay.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as folder:
        new = Path(folder) / "new"
        new.mkdir()
        try:
            with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as packed:
                packed.extractall(new, filter="data")  # nothing leaves the folder, whoever packed it
        except tarfile.TarError as error:
            raise RequestError(str(out), f"the archive is not valid: {error}", "Nothing was written.") from error
        with contextlib.suppress(OSError):  # `out` exists
            os.rename(new, out)
            return
        refuse_other(out, new)
        shutil.copytree(new, out, dirs_exist_ok=True, copy_function=os.replace)


def refuse_other(out: Path, new: Path) -> None:
    """Refuse `out` unless its ledger is a prefix of the fetched ledger: a ledger only grows."""
    ledger = out / LEDGER
    here = ledger.read_bytes() if ledger.is_file() else b""
    whole = here[: here.rfind(b"\n") + 1]
    if not whole or busy(ledger) or not (new / LEDGER).read_bytes().startswith(whole):
        problem = "holds something else, or this search was continued here"
        raise RequestError(str(out), problem, "Name another folder with --out.")
