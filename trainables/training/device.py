"""Everything that depends on a run's hardware."""

import contextlib
import gc
import resource
from collections.abc import Iterator

import torch

CONTEXT_BYTES = 600 << 20  # memory of CUDA and its libraries in one process; similar on all recent devices


def set_up(threads: int, gpu_share: float) -> torch.device:
    """Prepare this process for its runs, once, and return the device on which the runs compute.

    The number of threads is fixed, since a sum split over another number of threads rounds differently. Ray does not
    isolate GPU memory, so a run that asked for a share of a GPU is limited to that share of the GPU's memory.
    """
    torch.set_num_threads(threads)
    device = torch.device("cuda" if gpu_share > 0 and torch.cuda.is_available() else "cpu")
    if device.type == "cuda":
        torch.use_deterministic_algorithms(True, warn_only=True)
        if gpu_share < 1:
            torch.cuda.set_per_process_memory_fraction(memory_share(gpu_share, CONTEXT_BYTES, gpu_memory()))
    gc.collect()
    gc.freeze()  # keeps the libraries: a collection between two runs then visits only objects that the run left
    return device


@contextlib.contextmanager
def borrowed(threads: int, gpu_share: float) -> Iterator[torch.device]:
    """`set_up` for one run in the caller's process, whose settings are restored afterwards."""
    before, frozen = torch.get_num_threads(), gc.get_freeze_count()
    deterministic, warn_only = (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    )
    try:
        yield set_up(threads, gpu_share)
    finally:
        torch.set_num_threads(before)
        torch.use_deterministic_algorithms(deterministic, warn_only=warn_only)
        if gpu_share > 0 and torch.cuda.is_available():
            torch.cuda.set_per_process_memory_fraction(1.0)
        if not frozen:
            gc.unfreeze()


def memory_share(gpu_share: float, context: int, total: int) -> float:
    """The share of a GPU's memory that torch may allocate for a run with `gpu_share`, apart from the CUDA context.

    `context` and `total` are bytes. At least a tenth of the share remains, however small the device: a run that needs
    more memory fails and says so.
    """
    return max(gpu_share - context / total, gpu_share / 10)


def gpu_memory() -> int:
    """The memory, in bytes, of the first GPU that this process can use; 0 without a GPU."""
    return torch.cuda.get_device_properties(0).total_memory if torch.cuda.is_available() else 0


def peak_memory(device: torch.device) -> tuple[int, int]:
    """Peak memory of this process in bytes: on its GPU, CUDA context included, and on the host.

    The context is all used memory of the device beyond torch's reservations, so no other process may use the device.
    """
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # Linux counts in KiB
    if device.type != "cuda":
        return 0, resident
    free, total = torch.cuda.mem_get_info()
    context = total - free - torch.cuda.memory_reserved()
    return torch.cuda.max_memory_reserved() + context, resident


def free() -> None:
    """Release memory after a run, so that the next run on the same worker starts as if it were the first."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def random_state(device: torch.device) -> torch.Tensor:
    """The state of the generator that dropout on this device draws from."""
    return torch.cuda.get_rng_state(device) if device.type == "cuda" else torch.get_rng_state()


def set_random_state(device: torch.device, state: torch.Tensor) -> None:
    """Restore a state that `random_state` returned."""
    if device.type == "cuda":
        torch.cuda.set_rng_state(state, device)
    else:
        torch.set_rng_state(state)
