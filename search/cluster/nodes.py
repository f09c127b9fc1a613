"""Starts Ray on this machine or connects to a cluster, and counts the runs that fit on the nodes at any time."""

import contextlib
import logging
import os
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

import seedwise
from seedwise import paths
from seedwise.errors import RequestError, SearchError
from seedwise.process import environment, kept_handlers, quiet
from seedwise.search.cluster.code import assemble, own_code
from seedwise.search.cluster.placement import Node, Placement
from seedwise.search.cluster.ray_internals import is_job_with_code, loopback, over_client, reason_of

# Tune's loggers would write five files per run, its snapshots are never read, its signal handler would hide Ctrl-C, and
# errors are in the ledger. The searcher decides how many runs wait for a worker.
ENVIRONMENT = {
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "TUNE_GLOBAL_CHECKPOINT_S": "3600",
    "TUNE_DISABLE_SIGINT_HANDLER": "1",
    "TUNE_WARN_EXCESSIVE_EXPERIMENT_CHECKPOINT_SYNC_THRESHOLD_S": "0",
    "TUNE_PRINT_ALL_TRIAL_ERRORS": "0",
    "TUNE_MAX_PENDING_TRIALS_PG": "100000",
    "RAY_CHDIR_TO_TRIAL_DIR": "0",
    "RAY_AIR_NEW_OUTPUT": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
QUIET = {"logging_level": "ERROR", "log_to_driver": False}
FOLDER = "SEEDWISE_FOLDER"  # environment variable of local workers: the folder where the search was started
CONNECT_SECONDS = 10.0  # how long to wait for a machine that does not answer
NODES_SECONDS = 1.0  # how old the list of nodes may be
REQUEST_SECONDS = 10.0  # between two requests to an autoscaler, which checks every few seconds
MAX_REQUESTED = 1000  # runs


@contextlib.contextmanager
def ray_running(address: str | None, console: Console) -> Iterator[None]:
    """Start Ray on this machine or connect to a cluster for the block, unless this process already uses Ray.

    A cluster gets this package and the code of the user's own method or policy. Its nodes need the packages that this
    code imports, but not Seedwise itself.
    """
    with environment(ENVIRONMENT), quiet(logging.CRITICAL, "ray.tune"):  # what Tune would log is in the ledger
        import ray

        if ray.is_initialized():
            yield
            return
        status = console.status(f"connecting to Ray at {address}" if address is not None else "starting Ray")
        with kept_handlers(), status:  # Ray installs signal handlers
            join(address) if address is not None else start_here()
        try:
            yield
        finally:
            ray.shutdown()


def start_here() -> None:
    """Start Ray for this search alone. Its workers can import all that this process can import."""
    import ray

    package = Path(seedwise.__file__).resolve().parent.parent
    path = os.pathsep.join(dict.fromkeys([*filter(None, sys.path), str(paths.folder()), str(package)]))
    runtime: dict = {"env_vars": {"PYTHONPATH": path, FOLDER: str(paths.folder())}}
    if paths.folder() != Path.cwd():
        runtime["worker_process_setup_hook"] = f"{__name__}.enter_folder"
    try:
        with loopback():
            ray.init("local", include_dashboard=False, runtime_env=runtime, **QUIET)
    except Exception as error:  # Ray raises no specific class here
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__).rstrip(".")
        raise SearchError(f"Ray does not start here: {reason}. Try again when this machine is less busy.") from error


def enter_folder() -> None:
    """Change to the folder where the search was started. A local worker calls this first (`worker_process_setup_hook`).

    The search may have been resumed from another folder, and a user's method opens files by relative paths.
    """
    os.chdir(os.environ[FOLDER])


def join(address: str) -> None:
    """Connect to a cluster, or raise a RequestError that says why not. Sends this code, unless a job has brought it.

    The port is tried first, since Ray itself would try for minutes if nothing listens there.
    """
    import ray

    options = {"address": address, **QUIET}
    with tempfile.TemporaryDirectory() as folder:
        if not is_job_with_code():
            options["runtime_env"] = {"py_modules": [str(assemble(Path(folder))), *map(str, own_code())]}
        try:
            host, colon, port = address.removeprefix("ray://").rpartition(":")
            if colon:
                socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_SECONDS).close()
            try:
                ray.init(**options)
            except ConnectionAbortedError:  # a busy head may be slow to start the process for a client
                ray.init(**options)
        except (OSError, ImportError, ValueError, RuntimeError) as error:
            fix = (
                "Is Ray running there? On a node of a cluster write auto, from outside ray://HEAD:10001 (which needs "
                "ray[client]), or submit the search."
            )
            raise RequestError(f"--address {address}", reason_of(error), fix) from error


def nodes_now() -> list[Node]:
    """The nodes that are alive, without the memory of their GPUs, which `search/cluster/measure.py` adds."""
    import ray

    nodes = []
    for node in ray.nodes():
        if node["Alive"]:
            has = node["Resources"]
            name, memory = node["NodeManagerHostname"] or node["NodeManagerAddress"], int(has.get("memory", 0))
            nodes.append(Node(name, has.get("CPU", 0.0), has.get("GPU", 0.0), 0, memory, node["NodeID"]))
    return nodes


class Slots:
    """Counts the runs that fit into the cluster now, which can grow and shrink, and asks an autoscaler for nodes."""

    def __init__(self, placement: Placement):
        self.placement = placement
        self._slots, self._counted = 0, 0.0  # the last count, and its time
        self._requested, self._sent = 0, 0.0  # the last request (runs), and its time

    def __enter__(self) -> "Slots":
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(Exception):  # the head may be gone
            self.request(0)

    def now(self) -> int:
        if time.monotonic() - self._counted >= NODES_SECONDS:
            self._slots, self._counted = self.placement.slots(nodes_now()), time.monotonic()
        return self._slots

    def request(self, runs: int | None) -> None:
        """Ask an autoscaler, if there is one, for room for `runs` runs at once; None: for twice as many as fit now."""
        if over_client():
            return  # Ray takes requests from within a cluster only
        wanted = min(2 * self.now() if runs is None else runs, MAX_REQUESTED)
        if wanted != self._requested and (wanted == 0 or time.monotonic() - self._sent >= REQUEST_SECONDS):
            from ray.autoscaler.sdk import request_resources

            needs = {"CPU": self.placement.cpus, "GPU": self.placement.gpus}
            request_resources(bundles=[{kind: amount for kind, amount in needs.items() if amount}] * wanted)
            self._requested, self._sent = wanted, time.monotonic()
