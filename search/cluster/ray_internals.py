"""What Ray does not promise to keep: its private names, and the words of its errors.

Nothing else uses them. `tests/search/cluster/test_ray_internals.py` fails by name where a new Ray changed one. Ray is
imported in the functions, since commands that only read must start without it.
"""

import contextlib
import json
import os
import re
from collections.abc import Iterator
from typing import Any, Literal

RAISED = re.compile(r"ray::[\w.]+\(\)")  # the heading of an error that Python raised in a worker
SWITCH = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"  # "0": as on a Mac, where Ray never listens to a network
JOB = "RAY_JOB_CONFIG_JSON_ENV_VAR"  # variable of a job's process: how it was submitted, as JSON


def _kv() -> Any:
    """The key-value store of the cluster's head, which all its processes see."""
    from ray.experimental import internal_kv

    return internal_kv


def kv_put(key: bytes, value: bytes = b"", *, overwrite: bool = True) -> None:
    """Write to the key-value store; does nothing without Ray."""
    if _kv()._internal_kv_initialized():
        _kv()._internal_kv_put(key, value, overwrite=overwrite)


def kv_get(key: bytes) -> bytes | None:
    """What the key-value store has; None where it has nothing."""
    return _kv()._internal_kv_get(key) if _kv()._internal_kv_initialized() else None


def kv_delete(key: bytes) -> None:
    if _kv()._internal_kv_initialized():
        _kv()._internal_kv_del(key)


def kv_keys(prefix: bytes) -> list[bytes]:
    return _kv()._internal_kv_list(prefix)


def over_client() -> bool:
    """Whether this process is connected to its cluster from outside, by ray://."""
    import ray

    return ray.util.client.ray.is_connected()


def brought_by_job() -> bool:
    """Whether this process is a submitted job that has brought its code."""
    return "working_dir" in json.loads(os.environ.get(JOB, "{}")).get("runtime_env", {})


def wait_until_started(actor: Any) -> None:
    import ray

    ray.get(actor.__ray_ready__.remote())


def worker_of(trial: Any) -> Any:
    """The worker (an actor) of a trial of Tune; None where it has none."""
    return trial.temporary_state.ray_actor


def run_tune(trainable: Any, folder: str, **options: Any) -> None:
    """`tune.run` with Tune's files in `folder` and its loop in this process: it would leave it over ray://."""
    from ray import tune

    with _tunes_files(folder), _uncounted():
        tune.run(trainable, storage_path=folder, _remote=False, **options)


@contextlib.contextmanager
def _tunes_files(folder: str) -> Iterator[None]:
    """Over ray:// there is no node of Ray here whose folder Tune could keep its files in."""
    from ray.train._internal import storage

    usual = storage._get_ray_train_session_dir
    if over_client():
        storage._get_ray_train_session_dir = lambda: folder
    try:
        yield
    finally:
        storage._get_ray_train_session_dir = usual


@contextlib.contextmanager
def _uncounted() -> Iterator[None]:
    """Tune counts callbacks for its makers' statistics, and imports MLflow for that: a second of every search."""
    from ray.air._internal import usage

    usual, usage.tag_callbacks = usage.tag_callbacks, lambda callbacks: False
    try:
        yield
    finally:
        usage.tag_callbacks = usual


@contextlib.contextmanager
def loopback() -> Iterator[None]:
    """Start Ray in this block, with ray.init(address="local"): closed to other machines, it listens on 127.0.0.1 alone.

    `_node_ip_address="127.0.0.1"` is no way to it, since ray.init replaces that by the address on the network. Ray has
    read its switch when it was imported, so it is turned there; the processes that it starts read it anew. It is turned
    back after the block, so that this process may join a cluster later.
    """
    from ray._private import ray_constants

    before, variable = ray_constants.ENABLE_RAY_CLUSTER, os.environ.get(SWITCH)
    ray_constants.ENABLE_RAY_CLUSTER, os.environ[SWITCH] = False, "0"
    try:
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = before
        os.environ.pop(SWITCH)
        if variable is not None:
            os.environ[SWITCH] = variable


def out_of_memory(error: Exception) -> bool:
    """Whether a task failed for memory: its worker was ended for it, or Python raised it there."""
    text = str(error)
    return what_happened(text) == "memory" or "OutOfMemory" in text or "MemoryError" in text


def what_happened(error: str) -> Literal["memory", "node", "process", "start", "step"]:
    """What took a worker away, by the words of Ray's error, which has no kinds for it.

    The memory of its node or device ran out; its node died; its process died; or Python raised something in it, before
    its first step (a missing import, say) or in one.
    """
    if "running low on memory" in error or "OutOfMemoryError" in error:
        return "memory"
    if "node has died" in error or "node died" in error or "NodeDied" in error:
        return "node"
    if "Traceback" not in error and not RAISED.search(error):
        return "process"
    return "start" if "its creation task" in error else "step"
