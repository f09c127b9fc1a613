"""The results of a submitted search, brought here through nothing but the port that jobs are submitted to."""

import base64
import contextlib
import hashlib
import io
import os
import re
import secrets
import shlex
import tarfile
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from seedwise.errors import RequestError
from seedwise.folder import LEDGER
from seedwise.search.cluster import pack_on_head
from seedwise.search.ledger.state import busy

if TYPE_CHECKING:
    from ray.job_submission import JobSubmissionClient

LINE = re.compile(rf"^{pack_on_head.MARK} ([0-9a-f]{{64}}) ([A-Za-z0-9+/=]+)$", re.MULTILINE)
POLL = 0.3  # seconds between two looks at whether the folder is packed


def fetch(client: "JobSubmissionClient", there: str, out: Path) -> None:
    """Bring the folder `there` of the head to `out`, without checkpoints, also while its search runs.

    A short job on the head writes the folder into its own log, which is read here.
    """
    source = Path(pack_on_head.__file__).read_text(encoding="utf-8")
    job = client.submit_job(
        entrypoint=f"python -c {shlex.quote(source)} {in_shell(there)}", submission_id=f"fetch-{secrets.token_hex(4)}"
    )
    while not (info := client.get_job_info(job)).status.is_terminal():
        time.sleep(POLL)
    if info.driver_exit_code == pack_on_head.NOTHING:
        raise RequestError(there, "there is no search yet in this folder of the head", "Its log says why: job follow.")
    if info.driver_exit_code != 0:
        raise RequestError(there, f"it was not packed: {info.message.strip().splitlines()[-1]}", "Try again.")
    found = LINE.search(client.get_job_logs(job))
    client.delete_job(job)  # from the list of jobs
    archive = base64.b64decode(found[2]) if found else b""
    if not found or hashlib.sha256(archive).hexdigest() != found[1]:
        raise RequestError(there, "it did not arrive in whole", "Try again.")
    unpack(archive, out)


def in_shell(folder: str) -> str:
    """A folder of the head as one word of its shell, where only the home folder is not known here."""
    return f'"$HOME"/{shlex.quote(folder[2:])}' if folder.startswith("~/") else shlex.quote(folder)


def unpack(archive: bytes, out: Path) -> None:
    """Unpack a search folder to `out`, where nothing may be but an earlier state of the same search.

    Files of one's own that lie in it stay.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as place:
        new = Path(place) / "new"
        new.mkdir()
        try:
            with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as packed:
                packed.extractall(new, filter="data")  # nothing leaves the folder, whoever packed it
        except tarfile.TarError as error:
            raise RequestError(str(out), f"what came is no search folder: {error}", "Nothing was written.") from error
        with contextlib.suppress(OSError):  # something is there already
            os.rename(new, out)
            return
        refuse_other(out, new)
        for file in sorted(new.rglob("*")):
            target = out / file.relative_to(new)
            if file.is_file():
                target.parent.mkdir(parents=True, exist_ok=True)
                os.replace(file, target)


def refuse_other(out: Path, new: Path) -> None:
    """A ledger only grows: the one that is here must be the beginning of the one that came."""
    ledger = out / LEDGER
    here = ledger.read_bytes() if ledger.is_file() else b""
    whole = here[: here.rfind(b"\n") + 1]
    if not whole or busy(ledger) or not (new / LEDGER).read_bytes().startswith(whole):
        problem = "holds something else, or this search went on by itself here"
        raise RequestError(str(out), problem, "Name another folder with --out.")
