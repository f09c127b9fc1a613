"""Lets the first runs of a session begin together.

Tune gives a run that waits for its own worker to any worker that becomes free earlier, and then throws away the
one that was starting. Where runs are shorter than the start of a process (seconds: it imports torch), all slots
but one would stay empty for the whole search. So the first run on each worker waits until every slot has one.
"""

import time
import uuid

from seedwise.search.cluster.ray_internals import kv_keys, kv_put

POLL_SECONDS = 0.01


def begin_together(session: str, workers: int, *, timeout: float) -> None:
    """Wait until `workers` processes of this session have come here, or until `timeout` (seconds) is over."""
    prefix = f"seedwise/{session}/gate/".encode()
    kv_put(prefix + uuid.uuid4().bytes)
    deadline = time.monotonic() + timeout
    while len(kv_keys(prefix)) < workers and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
