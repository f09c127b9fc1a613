"""MLflow, written from the ledger alone by a process of its own.

The follower reads the ledger while the search writes it, so an outage of MLflow delays what is shown there and never
stops or slows a search: the driver neither imports MLflow nor waits for it. What MLflow already has is asked from
MLflow itself, so a follower that was killed, or a database that was deleted, is made good by following again.
"""

import argparse
import contextlib
import fcntl
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

from search.errors import RequestError
from search.follow import SCORE, Mirror, mask
from search.ledger import scan
from search.store import Store

LEDGER = "ledger.jsonl"
POLL = 0.5  # seconds between two looks at the ledger
SHARE = 4  # rest this many times as long as writing took, at most REST: the processors belong to the search
REST = 5.0
GRACE = 60.0
INCOMPLETE = 3  # exit code: MLflow could not be reached, and the search is over
ENVIRONMENT = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",  # the loop below retries; MLflow's own way blocks for minutes
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",  # saves a request per run
    "MLFLOW_DISABLE_TELEMETRY": "true",
}


def start_follower(folder: Path, uri: str = "") -> subprocess.Popen:
    """Follow the ledger of a search folder until `finish`, or until this process ends in whatever way.

    `uri` is needed only where the ledger has the address without its password: it reaches the follower through the
    environment, where other users cannot read it. What the follower has to say goes to tracking.log.
    """
    paths = [str(Path(__file__).resolve().parent.parent), os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "PYTHONSAFEPATH": "1",  # a folder `search` in the current directory is not this package
        **({"MLFLOW_TRACKING_URI": uri} if uri else {}),
    }
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "tracking.log", "ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "search.tracking", str(folder.resolve())],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,  # Ctrl-C in the terminal is for the search
        )


def finish(process: subprocess.Popen, timeout: float) -> bool:
    """Let the follower catch up and end; whether everything is in MLflow. After `timeout` it goes on by itself."""
    process.stdin.close()
    try:
        return process.wait(timeout) == 0
    except subprocess.TimeoutExpired:
        return False


def resolve_uri(uri: str, base: Path) -> str:
    """The tracking address with a sqlite path made absolute, relative to `base`; its folder is created."""
    scheme, _, path = uri.partition(":///")
    if "://" not in uri or scheme == "file":
        raise RequestError(
            f"tracking.uri: MLflow cannot write to {mask(uri)!r}. Give a database, such as sqlite:///runs/mlflow.db, "
            "or the address of a server, such as http://127.0.0.1:5000."
        )
    if scheme != "sqlite":
        return uri
    file = (base / path).absolute()
    file.parent.mkdir(parents=True, exist_ok=True)
    return f"sqlite:///{file}"


def comparison_link(uri: str, server: str, name: str | None) -> str:
    """The page of MLflow that lists a search's configurations, best first; without a name, its front page."""
    if name is None:
        return server
    os.environ.update(ENVIRONMENT)
    from mlflow import MlflowClient, MlflowException

    try:
        experiment = MlflowClient(uri).get_experiment_by_name(name)
    except MlflowException as error:
        raise RequestError(f"tracking.uri: {mask(uri)} does not answer ({mask(str(error))[:200]}).") from error
    if experiment is None:
        raise RequestError(
            f"MLflow has no experiment {name!r} yet. Bring it there with python run_search.py resume DIR."
        )
    view = {"searchFilter": "tags.level = 'configuration'", "orderByKey": f"metrics.`{SCORE}`", "orderByAsc": "false"}
    return f"{server}/#/experiments/{experiment.experiment_id}/runs?{urlencode(view)}"


class Follower:
    """Brings MLflow to where the ledger is, again and again, until the search is over and both agree."""

    def __init__(self, folder: Path, over: threading.Event) -> None:
        self.trouble = ""  # why MLflow cannot be written; empty while it can
        self.address = ""
        self._folder, self._over = folder, over
        self._lock = open(folder / "tracking.log", "ab")  # noqa: SIM115 (held for the life of this process)
        self._mirror = Mirror()
        self._store: Store | None = None
        self._doubtful = False  # a request failed: the server may have carried it out nevertheless

    def follow(self, grace: float) -> bool:
        """Whether all is written. It gives up once the search is over and `grace` seconds went by without success."""
        events, end, failures, success = [], 0, 0, time.monotonic()
        while True:
            last, began = self._over.is_set(), time.monotonic()
            if (self._folder / LEDGER).exists():
                new, end = scan(self._folder / LEDGER, end)
                events += new
            left = len(self._mirror.pending)
            if self._advance(events, last=last):
                if last:
                    return True
                failures, success = 0, time.monotonic()
                self._over.wait(min(max(POLL, SHARE * (time.monotonic() - began)), REST))
                continue
            if not last or len(self._mirror.pending) < left:
                success = time.monotonic()
            if time.monotonic() - success > grace:
                return False
            time.sleep(min(POLL * 2**failures, REST))
            failures += 1

    def _advance(self, events: list[dict], *, last: bool) -> bool:
        """Take in the events and write all that is pending; whether that worked. Without a ledger there is no work."""
        if not (events or self._mirror.lines):
            return True
        if last and self._doubtful:
            self._store, self._doubtful = None, False  # looks for runs that were created twice
        if self._store is None:
            search = self._mirror.state.search or events[0]
            self.address = _address(search["specification"]["tracking"]["uri"])
            if not self._attempt(lambda: self._connect(search)):
                return False
        self._mirror.take(events, written="" if self._mirror.lines else self._store.written)
        events.clear()
        return self._attempt(lambda: self._store.write(self._mirror, self._folder, last=last))

    def _connect(self, search: dict) -> None:
        """Two followers of one folder would create every run twice: the second waits until the first is done."""
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RuntimeError("another process is writing this search to it") from None
        self._store = Store(self.address, search["name"], search["search_id"])

    def _attempt(self, action: Callable[[], None]) -> bool:
        """Whatever goes wrong between here and MLflow is an outage: said once, and tried again."""
        try:
            action()
        except Exception as error:
            reason = mask(f"{type(error).__name__}: {error}").split("\n")[0][:300]
            if not self.trouble:
                print(f"MLflow at {mask(self.address)} cannot be written, trying again. {reason}", flush=True)
            self.trouble, self._store, self._doubtful = reason, None, True
            return False
        if self.trouble:
            print(f"MLflow at {mask(self.address)} answers again.", flush=True)
        self.trouble = ""
        return True


def _address(uri: str) -> str:
    """The tracking address of a specification; where its password was left out, the one of the environment."""
    if "***" not in uri:
        return resolve_uri(uri, Path.cwd())
    if not (whole := os.environ.get("MLFLOW_TRACKING_URI")):
        raise RequestError(
            f"tracking.uri: {uri} lacks its password. Set MLFLOW_TRACKING_URI to the whole address and resume."
        )
    return whole


def _watch_input(over: threading.Event) -> None:
    """Whoever started this process holds the other end of its standard input, and lets go of it even when killed."""
    with contextlib.suppress(OSError):  # no standard input at all is an ended one
        while os.read(0, 4096):
            pass
    over.set()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m search.tracking", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="a search folder; ends with the end of standard input")
    parser.add_argument(
        "--grace", type=float, default=GRACE, help="seconds to wait for MLflow after the search is over"
    )
    arguments = parser.parse_args()
    if not arguments.folder.is_dir():
        parser.error(f"{arguments.folder} is not a folder. Name the one that a search wrote, such as runs/demo.")
    os.environ.update(ENVIRONMENT)
    os.nice(5)  # the processors belong to the search
    over = threading.Event()
    threading.Thread(target=_watch_input, args=(over,), daemon=True).start()
    try:
        follower = Follower(arguments.folder, over)
        if follower.follow(arguments.grace):
            return 0
    except RequestError as error:
        print(f"seedwise: {error}", flush=True)
        return 2
    print(
        f"seedwise: MLflow at {mask(follower.address)} is incomplete ({follower.trouble}). "
        f"`python run_search.py resume {arguments.folder}` will complete the tracking.",
        flush=True,
    )
    return INCOMPLETE


if __name__ == "__main__":
    sys.exit(main())
