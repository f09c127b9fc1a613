"""What Ray does not promise to keep: its private names, and the words of its errors.

Nothing else uses them. `tests/search/cluster/test_ray_internals.py` fails by name where a new Ray changed one. Ray is
imported in the functions, since commands that only read must start without it.
"""

import contextlib
import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ray.actor import ActorHandle
    from ray.tune.experiment import Trial

SWITCH = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"  # "0": as on a Mac, where Ray never listens to a network
JOB = "RAY_JOB_CONFIG_JSON_ENV_VAR"  # variable of a job's process: how it was submitted, as JSON


def kv_put(key: bytes, value: bytes = b"", *, overwrite: bool = True) -> None:
    """Write to the key-value store of the cluster's head, which all its processes see; nothing without Ray."""
    from ray.experimental import internal_kv

    if internal_kv._internal_kv_initialized():
        internal_kv._internal_kv_put(key, value, overwrite=overwrite)


def kv_get(key: bytes) -> bytes | None:
    """What the key-value store has; None where it has nothing."""
    from ray.experimental import internal_kv

    return internal_kv._internal_kv_get(key) if internal_kv._internal_kv_initialized() else None


def kv_delete(key: bytes) -> None:
    from ray.experimental import internal_kv

    if internal_kv._internal_kv_initialized():
        internal_kv._internal_kv_del(key)


def kv_keys(prefix: bytes) -> list[bytes]:
    from ray.experimental import internal_kv

    return internal_kv._internal_kv_list(prefix)


def over_client() -> bool:
    """Whether this process is connected to its cluster from outside, by ray://."""
    import ray

    return ray.util.client.ray.is_connected()


def brought_by_job() -> bool:
    """Whether this process is a submitted job that has brought its code."""
    return "working_dir" in json.loads(os.environ.get(JOB, "{}")).get("runtime_env", {})


def wait_until_started(actor: "ActorHandle") -> None:
    import ray

    ray.get(actor.__ray_ready__.remote())


def worker_of(trial: "Trial") -> "ActorHandle | None":
    """The worker of a trial of Tune, while it has one."""
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


# What Ray says where a worker is gone. There are no kinds of errors for it.


def says_memory_ran_out(text: str) -> bool:
    """Ray ended the worker because the memory of its node ran out, or the worker said that its device is full."""
    return "running low on memory" in text or "OutOfMemoryError" in text


def says_node_died(text: str) -> bool:
    return "node has died" in text or "node died" in text or "NodeDied" in text


def says_python_error(text: str) -> bool:
    """Python raised something in the worker; otherwise its process died."""
    return "Traceback" in text


def says_start_failed(text: str) -> bool:
    """That was before the worker's first step: a missing import, say."""
    return "its creation task" in text
