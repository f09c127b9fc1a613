"""Uses Ray's private names and parses the texts of its errors. A new version of Ray may change either.

No other module uses them. `tests/search/cluster/test_ray_internals.py` has a test for each, which fails if it changed.
Ray is imported in the functions, since commands that only read must start without it.
"""

import contextlib
import json
import os
import re
from collections.abc import Iterator
from typing import Any, Literal

from seedwise.process import environment

PYTHON_ERROR = re.compile(r"ray::[\w.]+\(\)")  # the heading of an error that Python raised in a worker
CLUSTER_SWITCH = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"  # "0": as on a Mac, where Ray never listens on a network
JOB_LOGGERS = ("ray.dashboard.modules.dashboard_sdk", "ray.dashboard.modules.job.sdk")  # loggers of a job client
JOB_CONFIG = "RAY_JOB_CONFIG_JSON_ENV_VAR"  # environment variable of a job: the options of its submission, as JSON


def _kv() -> Any:
    """The key-value store on the cluster's head, which all its processes share."""
    from ray.experimental import internal_kv

    return internal_kv


def kv_put(key: bytes, value: bytes = b"", *, overwrite: bool = True) -> None:
    """Write to the key-value store; does nothing without Ray."""
    if _kv()._internal_kv_initialized():
        _kv()._internal_kv_put(key, value, overwrite=overwrite)


def kv_get(key: bytes) -> bytes | None:
    """The value of a key; None if the key is missing, or without Ray."""
    return _kv()._internal_kv_get(key) if _kv()._internal_kv_initialized() else None


def kv_delete(key: bytes) -> None:
    if _kv()._internal_kv_initialized():
        _kv()._internal_kv_del(key)


def kv_keys(prefix: bytes) -> list[bytes]:
    return _kv()._internal_kv_list(prefix)


def over_client() -> bool:
    """Whether this process is connected to its cluster by ray://, from outside."""
    import ray

    return ray.util.client.ray.is_connected()


def reason_of(error: Exception) -> str:
    """The line of an error that says why Ray could not connect: its server may send a heading and a traceback."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[-1 if lines[0].endswith(":") else 0].rstrip(".")


def is_job_with_code() -> bool:
    """Whether this process is a submitted job whose package has our code."""
    return "working_dir" in json.loads(os.environ.get(JOB_CONFIG, "{}")).get("runtime_env", {})


def wait_until_started(actor: Any) -> None:
    import ray

    ray.get(actor.__ray_ready__.remote())


def worker_of(trial: Any) -> Any:
    """The worker (an actor) of a trial of Tune; None if the trial has none."""
    return trial.temporary_state.ray_actor


def run_tune(trainable: Any, folder: str, **options: Any) -> None:
    """Call `tune.run` with Tune's files in `folder`, and with its loop in this process even over ray://."""
    from ray import tune
    from ray.air._internal import usage
    from ray.train._internal import storage

    session_dir = storage._get_ray_train_session_dir
    with (
        # Tune counts callbacks for Ray's usage statistics, and imports MLflow for that: a second of every search.
        _replaced(usage, "tag_callbacks", lambda callbacks: False),
        # Over ray:// this machine has no folder of a Ray node for Tune's files.
        _replaced(storage, "_get_ray_train_session_dir", (lambda: folder) if over_client() else session_dir),
    ):
        tune.run(trainable, storage_path=folder, _remote=False, **options)


@contextlib.contextmanager
def _replaced(module: Any, name: str, value: Any) -> Iterator[None]:
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)


@contextlib.contextmanager
def loopback() -> Iterator[None]:
    """Let ray.init(address="local") start a Ray that listens on 127.0.0.1 alone, closed to other machines.

    `_node_ip_address="127.0.0.1"` has no effect: ray.init replaces it by the network address. This process read Ray's
    switch when it imported Ray, so the constant is replaced; the processes that Ray starts read the variable. The
    constant and the variable are restored after the block, so that this process can join a cluster later.
    """
    from ray._private import ray_constants

    with environment({CLUSTER_SWITCH: "0"}), _replaced(ray_constants, "ENABLE_RAY_CLUSTER", False):
        yield


def out_of_memory(error: Exception) -> bool:
    """Whether a task ran out of memory: Ray ended its worker, or Python raised an error there."""
    text = str(error)
    return what_happened(text) == "memory" or "OutOfMemory" in text or "MemoryError" in text


def what_happened(error: str) -> Literal["memory", "node", "process", "start", "step"]:
    """Why a worker was lost. Ray has no exception types for this, so the text of its error decides.

    memory: its node or device ran out of memory. node, process: that died. start, step: Python raised an error while
    the worker was created (such as a missing import), or in a step.
    """
    if "running low on memory" in error or "OutOfMemoryError" in error:
        return "memory"
    if "node has died" in error or "node died" in error or "NodeDied" in error:
        return "node"
    if "Traceback" not in error and not PYTHON_ERROR.search(error):
        return "process"
    return "start" if "its creation task" in error else "step"
