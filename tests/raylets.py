"""Clusters of raylets, each started in a separate process.

Ray ends a process whose head is lost. Test processes outlive the clusters of their tests, so they never connect to a
cluster themselves.
"""

import contextlib
import multiprocessing
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from typing import Any

from ray.cluster_utils import Cluster


class Raylets:
    """A head without CPUs, unless `head` says otherwise, and `nodes` raylets of one CPU each; nodes go by their ids."""

    def __init__(self, nodes: int, **head) -> None:
        options = {"num_cpus": 0, "include_dashboard": False, **head}
        self._cluster = Cluster(initialize_head=True, head_node_args=options)  # ends with its process
        for _ in range(nodes):
            self._cluster.add_node(num_cpus=1, wait=False)
        self._cluster.wait_for_nodes()

    def address(self) -> str:
        return self._cluster.address

    def nodes(self) -> list[str]:
        return sorted(node.node_id for node in self._cluster.worker_nodes)

    def add_node(self) -> str:
        return self._cluster.add_node(num_cpus=1).node_id

    def kill_node(self, node_id: str) -> None:
        (node,) = (node for node in self._cluster.worker_nodes if node.node_id == node_id)
        self._cluster.remove_node(node, allow_graceful=False)

    def kill_head_and_raylets(self) -> None:
        for node in self._cluster.list_all_nodes():
            for kind, processes in node.all_processes.items():
                if kind in ("gcs_server", "raylet"):
                    for started in processes:
                        started.process.kill()


class _Remote:
    """Calls methods of `Raylets` in the other process. Not a manager's proxy: a head starts in a main thread only."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            self._pipe.send((name, arguments))
            answer = self._pipe.recv()
            if isinstance(answer, Exception):
                raise answer
            return answer

        return call


def _serve(pipe: Connection, nodes: int, head: dict[str, Any]) -> None:
    cluster = Raylets(nodes, **head)
    pipe.send(None)
    with contextlib.suppress(EOFError):  # the test process has ended, so the cluster ends too
        while True:
            name, arguments = pipe.recv()
            try:
                pipe.send(getattr(cluster, name)(*arguments))
            except Exception as error:
                pipe.send(error)


@contextlib.contextmanager
def raylets(nodes: int, **head) -> Iterator[Raylets]:
    """A cluster that ends with the block."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, nodes, head))
    process.start()
    theirs.close()
    try:
        ours.recv()  # the cluster is up, or EOFError
        yield _Remote(ours)
    finally:
        ours.close()
        process.join()
