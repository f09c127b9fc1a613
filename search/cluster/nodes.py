"""Ray under a search: on this machine, or a cluster that is there; its nodes as they come and go."""

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
from seedwise.search.cluster.ray_internals import brought_by_job, loopback, over_client

# Tune's own loggers write five files per run, its snapshots are never read here, and its signal handler hides Ctrl-C.
# What fails is in the ledger: Tune need not print it. How many runs wait for a worker is the searcher's decision.
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
FOLDER = "SEEDWISE_FOLDER"  # variable of local workers: where the search was started
CONNECT_SECONDS = 10.0  # to wait for a machine that does not answer at all
LOOK_SECONDS = 1.0  # how old the list of nodes may be
TELL_SECONDS = 10.0  # between two requests to an autoscaler, which itself looks every few seconds
MOST_ASKED = 1000  # runs that an autoscaler is asked to make room for


@contextlib.contextmanager
def ray_running(address: str | None, console: Console) -> Iterator[None]:
    """Ray on this machine for as long as the block lasts, or a connection to a cluster; one that is there is kept.

    A cluster gets this project's code, and that of a method or policy of one's own; its nodes need the packages that
    they import, and nothing of the project.
    """
    with environment(ENVIRONMENT):
        import ray

        with quiet(logging.CRITICAL, "ray.tune"):  # what it would say is in the ledger
            if ray.is_initialized():
                yield
                return
            with kept_handlers():  # Ray puts its own in their place
                if address is None:
                    with console.status("starting Ray"):
                        start_here()
                else:
                    with console.status(f"connecting to Ray at {address}"):
                        join(address)
            try:
                yield
            finally:
                ray.shutdown()


def start_here() -> None:
    """A Ray of our own, whatever cluster may be running here too; its workers import what this process can."""
    import ray

    # Variables of the workers: this process keeps its environment.
    package = Path(seedwise.__file__).resolve().parent.parent
    path = os.pathsep.join(dict.fromkeys([*filter(None, sys.path), str(paths.folder()), str(package)]))
    runtime: dict = {"env_vars": {"PYTHONPATH": path, FOLDER: str(paths.folder())}}
    if paths.folder() != Path.cwd():
        runtime["worker_process_setup_hook"] = f"{__name__}.enter_folder"
    try:
        with loopback():
            ray.init("local", include_dashboard=False, runtime_env=runtime, **QUIET)
    except Exception as error:  # Ray has no class of its own for it
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__).rstrip(".")
        raise SearchError(f"Ray does not start here: {reason}. Try again when this machine is less busy.") from error


def enter_folder() -> None:
    """Begin a worker of a search that was resumed from elsewhere in the folder where it was started.

    A worker is ours, and may change its folder: methods of one's own open files there by relative names.
    """
    os.chdir(os.environ[FOLDER])


def join(address: str) -> None:
    """Connect to a cluster. It gets our code, unless this is a submitted job, which has brought it."""
    if brought_by_job():
        connect(address, {"address": address, **QUIET})
        return
    with tempfile.TemporaryDirectory() as folder:
        modules = [str(path) for path in (assemble(Path(folder)), *own_code())]
        connect(address, {"address": address, "runtime_env": {"py_modules": modules}, **QUIET})


def connect(address: str, options: dict) -> None:
    """Join a cluster, or say in one line why not. Ray itself would try for minutes where nobody listens."""
    import ray

    try:
        host, colon, port = address.removeprefix("ray://").rpartition(":")
        if colon:
            socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_SECONDS).close()
        try:
            ray.init(**options)
        except ConnectionAbortedError:  # a busy head may be late with the process that it starts for a client
            ray.init(**options)
    except (OSError, ImportError, ValueError, RuntimeError) as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        reason = lines[-1 if lines[0].endswith(":") else 0].rstrip(".")  # a heading, then a traceback of the server's
        fix = (
            "Is Ray running there? On a node of a cluster write auto, from outside ray://HEAD:10001 (which needs "
            "ray[client]), or submit the search."
        )
        raise RequestError(f"--address {address}", reason, fix) from error


def nodes_now() -> list[Node]:
    """The nodes that are alive. The memory of their GPUs is not known here: see `search/cluster/measure.py`."""
    import ray

    found = []
    for node in ray.nodes():
        if node["Alive"]:
            has = node["Resources"]
            name, memory = node["NodeManagerHostname"] or node["NodeManagerAddress"], int(has.get("memory", 0))
            found.append(Node(name, has.get("CPU", 0.0), has.get("GPU", 0.0), 0, memory, node["NodeID"]))
    return found


class Slots:
    """How many runs fit into the cluster now. It may grow and shrink; an autoscaler is told how many are wanted."""

    def __init__(self, placement: Placement):
        self.placement = placement
        self._looked, self._slots = 0.0, 0
        self._told, self._asked = 0.0, 0

    def __enter__(self) -> "Slots":
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(Exception):  # of a head that is gone, nodes need not be given back
            self.request(0)

    def now(self) -> int:
        if time.monotonic() - self._looked >= LOOK_SECONDS:
            self._slots = self.placement.slots(nodes_now())
            self._looked = time.monotonic()
        return self._slots

    def request(self, runs: int | None) -> None:
        """Tell an autoscaler, where there is one, how many runs could be done at once; None: more than now."""
        if over_client():
            return  # it can be asked from within a cluster only
        wanted = min(2 * self.now() if runs is None else runs, MOST_ASKED)
        if wanted != self._asked and (wanted == 0 or time.monotonic() - self._told >= TELL_SECONDS):
            from ray.autoscaler.sdk import request_resources

            has = {"CPU": self.placement.cpus, "GPU": self.placement.gpus}
            request_resources(bundles=[{kind: amount for kind, amount in has.items() if amount}] * wanted)
            self._asked, self._told = wanted, time.monotonic()
