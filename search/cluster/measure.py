"""Measures what one run needs: a short run of the largest configuration, alone on one device of the cluster."""

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

ASK_SECONDS = 60.0  # that nodes may take to say what their GPUs have
MEASURE_SECONDS = 60.0  # a run that is not through its first epoch by then has seen enough batches


def largest(specification: Specification, method: type[Method]) -> dict:
    """The parameters of the space that take most memory, by the method's own word; of a landscape, a training's."""
    parts = specification.parts
    if parts.plan:
        return [one.params for one in parts.plan.trained.values()][-1]  # of both languages, where there is one
    return max(parts.space.samples, key=method.size)


def with_gpu_memory(nodes: Sequence[Node]) -> list[Node]:
    """The nodes with the memory of their GPUs, as torch on them sees it; 0 for logical GPUs without hardware."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    @ray.remote(num_cpus=0, max_calls=1)  # its process has seen all GPUs of its node: no run may come into it
    def ask() -> int:
        os.environ.pop("CUDA_VISIBLE_DEVICES", None)  # empty for a task without a GPU; a whole one may not be free
        from seedwise.trainables.training.device import gpu_memory

        return gpu_memory()

    asked = {
        node.id: ask.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node.id, soft=False)).remote()
        for node in nodes
        if node.gpus >= 1
    }
    ray.wait([*asked.values()], num_returns=len(asked), timeout=ASK_SECONDS) if asked else None
    found = {}
    for node_id, answer in asked.items():
        with contextlib.suppress(ray.exceptions.RayError):  # it is gone, or takes too long
            found[node_id] = ray.get(answer, timeout=0.1)
    return [replace(node, gpu_memory=found.get(node.id, 0)) for node in nodes]


def measure(specification: Specification, method: type[Method], inputs: Any, *, gpu: bool) -> Need | None:
    """The peak of one run, which ends after its first epoch or after MEASURE_SECONDS; None where it fails otherwise."""
    import ray

    params = largest(specification, method)
    threads = specification.resources.cpus_per_run
    threads = 1 if threads == "auto" else threads
    actor = ray.remote(num_cpus=threads, num_gpus=int(gpu), max_concurrency=2)(MeasuredRun).remote(threads, gpu)
    try:
        wait_until_started(actor)
        going = actor.run.remote(method, inputs, params, specification.seed)
        done, _ = ray.wait([going], timeout=MEASURE_SECONDS)
        ray.get(done)
        return Need(*ray.get(actor.peak.remote()))
    except ray.exceptions.RayError as error:
        if out_of_memory(error):
            problem = f"the largest run ({params}) does not fit on a whole device"
            raise RequestError("resources", problem, "Make batches smaller.") from None
        return None  # its failure is the search's to record, once it is proposed
    finally:
        ray.kill(actor)


class MeasuredRun:
    """The process that is measured: nothing else has run in it."""

    def __init__(self, threads: int, gpu: bool):
        from seedwise.trainables.training import device

        self.device = device.set_up(threads, 1.0 if gpu else 0.0)

    def run(self, method: type[Method], inputs: Any, params: dict, seed: int) -> None:
        params = dict(params)
        method.class_for(params)(inputs, params, Streams(seed, 0), self.device).step(0)

    def peak(self) -> tuple[int, int]:
        from seedwise.trainables.training import device

        return device.peak_memory(self.device)
