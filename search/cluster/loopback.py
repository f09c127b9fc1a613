"""Ray of a search on one machine, closed to all others: every process of it listens on 127.0.0.1 alone."""

import contextlib
import os
from collections.abc import Iterator

SWITCH = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"  # "0": as on a Mac, where Ray never listens to a network


@contextlib.contextmanager
def loopback() -> Iterator[None]:
    """Start Ray in this block, with ray.init(address="local"): it would else listen on all networks of the machine.

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
