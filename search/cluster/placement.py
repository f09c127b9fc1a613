"""Computes what one run occupies (CPUs, and GPUs or a share of a GPU), and so how many runs fit at once.

Pure arithmetic: `measure.py` measures, and Ray places the runs. Ray takes one number of CPUs and one share of a GPU for
all nodes of a cluster, so the smallest device decides.
"""

import math
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from seedwise.errors import RequestError
from seedwise.search.spec.schema import Resources

MARGIN = 0.15  # share of memory kept free, for fragmentation and for epochs larger than the measured epoch
SHARES = 10_000  # Ray counts shares of a GPU in ten-thousandths
GIGABYTE = 1 << 30


@dataclass(frozen=True)
class Node:
    """One machine of a cluster. `gpu_memory` (of one GPU) and `memory` are in bytes; 0 if unknown."""

    name: str
    cpus: float
    gpus: float = 0.0
    gpu_memory: int = 0
    memory: int = 0
    id: str = ""  # Ray's id of the node


@dataclass(frozen=True)
class Need:
    """The measured peak memory of one run, in bytes: on its GPU (with the CUDA context), and of the machine."""

    gpu_memory: int = 0
    memory: int = 0


@dataclass(frozen=True)
class Placement:
    """What one run occupies, and why: CPUs, which are also its threads, and a share of a GPU or several GPUs."""

    cpus: int
    gpus: float
    because: str = ""

    def slots(self, nodes: Sequence[Node]) -> int:
        """How many runs fit at once. A run stays on one node, and a share below 1 on one GPU."""
        slots = 0
        for node in nodes:
            by_gpu = math.inf
            if self.gpus >= 1:
                by_gpu = node.gpus // self.gpus
            elif self.gpus > 0:
                by_gpu = int(node.gpus) * math.floor(1 / self.gpus + 1e-9)
            slots += int(min(node.cpus // self.cpus, by_gpu))
        return slots

    def whole(self, nodes: Sequence[Node]) -> "Placement | None":
        """A whole GPU, or else a whole node, for a run that needs more than its share; None if every run has that.

        The run keeps its number of threads, so its scores do not change.
        """
        if self.gpus > 0:
            return Placement(self.cpus, 1.0) if self.gpus < 1 else None
        most = int(max((node.cpus for node in nodes), default=0))
        return Placement(most, 0.0) if most > self.cpus else None

    def event(self, nodes: Sequence[Node], need: Need | None) -> dict:
        """The `place` event of the ledger."""
        measured = {"need": asdict(need)} if need else {}
        return {"event": "place", **asdict(self), **measured, "nodes": [asdict(node) for node in nodes]}


def measures(resources: Resources, nodes: Sequence[Node]) -> bool:
    """Whether a run must be measured first: for `auto` CPUs, and for `auto` GPUs whose memory is known."""
    shares = resources.gpus_per_run == "auto" and any(node.gpus >= 1 and node.gpu_memory for node in nodes)
    return resources.cpus_per_run == "auto" or shares


def place(resources: Resources, nodes: Sequence[Node], need: Need | None = None) -> Placement:
    """What one run occupies on these nodes. `need` is what was measured, if `measures` required it."""
    gpus, why = resources.gpus_per_run, ""
    cpus = 1 if resources.cpus_per_run == "auto" else resources.cpus_per_run
    if gpus == "auto":
        gpus, why = _share(nodes, cpus, need)
    if resources.cpus_per_run == "auto":
        cpus, more = _cpus(nodes, gpus, need)
        why = f"{why}; {more}" if why else more
    placement = Placement(cpus, gpus, why)
    if placement.slots(nodes) < 1:
        raise _refusal(placement, nodes)
    return placement


def _share(nodes: Sequence[Node], cpus: int, need: Need | None) -> tuple[float, str]:
    """The share of a GPU for one run, and why. As many runs share a GPU as its memory and the node's CPUs allow."""
    with_gpus = [node for node in nodes if node.gpus >= 1]
    if not with_gpus:
        return 0.0, "there is no GPU"
    if not all(node.gpu_memory for node in with_gpus):
        return 1.0, "a whole GPU, since the memory of the GPUs cannot be read"
    if need is None:
        return 1.0, "a whole GPU, since the measured run failed"
    fits = []
    for node in with_gpus:
        by_memory = _fit("gpus_per_run", need.gpu_memory, node.gpu_memory, f"a GPU of {node.name}")
        fits.append(max(1, min(by_memory, int(node.cpus // (int(node.gpus) * cpus)))))
    most = min(fits)
    smallest = min(node.gpu_memory for node in with_gpus)
    why = f"the largest run needs {_gb(need.gpu_memory)} of {_gb(smallest)} on the smallest GPU"
    return (1.0 if most == 1 else SHARES // most / SHARES), f"{why}, so {most} runs share a GPU"


def _cpus(nodes: Sequence[Node], gpus: float, need: Need | None) -> tuple[int, str]:
    """The CPUs for one run, and why: the node's CPUs per GPU share, or more if memory allows fewer runs."""
    shares, least = [], 1
    for node in nodes:
        runs = Placement(1, gpus).slots([node])
        if runs < 1:
            continue
        shares.append(int(node.cpus // runs))
        by_memory = _fit("cpus_per_run", need.memory, node.memory, node.name) if need and node.memory else runs
        if by_memory < runs:
            least = max(least, int(node.cpus // (by_memory + 1)) + 1)
    cpus = max(least, min(shares, default=1))
    limit = "memory limits" if cpus == least > 1 else "CPUs limit"
    needs = f"the largest run needs {_gb(need.memory)}" if need else "nothing was measured"
    return cpus, f"{needs}, and {limit} how many fit on a node: {cpus} CPU each"


def _fit(key: str, need: int, memory: int, device: str) -> int:
    """How many runs fit into `memory` with a margin. Raises an error about `key` if not even one run fits."""
    runs = int(memory * (1 - MARGIN) // max(1, need))
    if runs < 1:
        problem = f"the largest run needs {_gb(need)}, {device} has {_gb(memory)}"
        raise RequestError(f"resources.{key}: auto", problem, "Make batches smaller, or leave that node out.")
    return runs


def _gb(size: int) -> str:
    return f"{size / GIGABYTE:.1f} GB"


def _refusal(placement: Placement, nodes: Sequence[Node]) -> RequestError:
    """The error that says why no run fits. It names the key whose value exceeds what any node has."""
    cpus, gpus = (max((getattr(node, kind) for node in nodes), default=0) for kind in ("cpus", "gpus"))
    where = "" if len(nodes) == 1 else " on any node"
    if placement.cpus > cpus or placement.gpus <= gpus:
        problem = f"{placement.cpus}, but there are {cpus:g} CPUs{where}"
        return RequestError("resources.cpus_per_run", problem, "Set it lower.")
    problem = f"{placement.gpus:g}, but there are {gpus:g} GPUs{where}"
    return RequestError("resources.gpus_per_run", problem, "Set it lower, or to auto.")


def this_machine(resources: Resources) -> tuple[Placement, int]:
    """The placement on this machine without Ray and without measuring, and how many runs fit."""
    node = Node("this machine", os.cpu_count() or 1)
    if resources.gpus_per_run != 0:
        import torch

        node = replace(node, gpus=torch.cuda.device_count())
    placement = place(resources, [node])
    return placement, placement.slots([node])
