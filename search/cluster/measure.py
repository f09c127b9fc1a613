"""Measures the memory that one run needs, by a short run of the largest configuration, alone on one device."""

import contextlib
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from seedwise.errors import RequestError
from seedwise.search.cluster.placement import Need, Node
from seedwise.search.cluster.ray_internals import out_of_memory, wait_until_started
from seedwise.search.spec.schema import Specification
from seedwise.trainables.method import Method
from seedwise.trainables.streams import Streams

NODE_SECONDS = 60.0  # how long nodes may take to report the memory of their GPUs
MEASURE_SECONDS = 60.0  # by then a run has seen enough batches, even within its first epoch


def with_gpu_memory(nodes: Sequence[Node]) -> list[Node]:
    """The nodes with the memory of their GPUs, as torch sees it there; 0 for logical GPUs without hardware."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    @ray.remote(num_cpus=0, max_calls=1)  # its process sees all GPUs of its node: no run may reuse it
    def memory() -> int:
        os.environ.pop("CUDA_VISIBLE_DEVICES", None)  # Ray sets it empty: the task requests no GPU, as none may be free
        from seedwise.trainables.training.device import gpu_memory

        return gpu_memory()

    answers = {
        node.id: memory.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node.id, soft=False)).remote()
        for node in nodes
        if node.gpus >= 1
    }
    ray.wait([*answers.values()], num_returns=len(answers), timeout=NODE_SECONDS) if answers else None
    known = {}
    for node_id, answer in answers.items():
        with contextlib.suppress(ray.exceptions.RayError):  # the node is gone or takes too long
            known[node_id] = ray.get(answer, timeout=0.1)
    return [replace(node, gpu_memory=known.get(node.id, 0)) for node in nodes]


def measure(specification: Specification, method: type[Method], params: dict, inputs: Any, *, gpu: bool) -> Need | None:
    """The peak memory of a run of one epoch, but at most MEASURE_SECONDS. None if it fails, unless out of memory."""
    import ray

    threads = specification.resources.cpus_per_run
    threads = 1 if threads == "auto" else threads
    actor = ray.remote(num_cpus=threads, num_gpus=int(gpu), max_concurrency=2)(MeasuredRun).remote(threads, gpu)
    try:
        wait_until_started(actor)
        epoch = actor.run.remote(method, inputs, params, specification.seed)
        done, _ = ray.wait([epoch], timeout=MEASURE_SECONDS)
        ray.get(done)
        return Need(*ray.get(actor.peak.remote()))
    except ray.exceptions.RayError as error:
        if out_of_memory(error):
            problem = f"the largest run ({params}) does not fit on a whole device"
            raise RequestError("resources", problem, "Make batches smaller.") from None
        return None  # the search records this failure when it proposes the configuration
    finally:
        ray.kill(actor)


class MeasuredRun:
    """A run in a process of its own, whose memory is measured."""

    def __init__(self, threads: int, gpu: bool):
        from seedwise.trainables.training import device

        self.device = device.set_up(threads, 1.0 if gpu else 0.0)

    def run(self, method: type[Method], inputs: Any, params: dict, seed: int) -> None:
        params = dict(params)
        method.class_for(params)(inputs, params, Streams(seed, 0), self.device).step(0)

    def peak(self) -> tuple[int, int]:
        from seedwise.trainables.training import device

        return device.peak_memory(self.device)
