"""Everything that depends on the hardware a run sits on."""

import gc
import resource

import torch

CONTEXT_BYTES = 600 << 20  # of CUDA and its libraries in one process; the same order on all recent devices


def set_up(threads: int, gpu_share: float) -> torch.device:
    """Prepare this process for runs, once, and return where they compute.

    Threads are pinned, since a sum split over another number of threads rounds differently. Ray does not isolate GPU
    memory, so a run that asked for a share of a GPU is held to that share of its memory.
    """
    torch.set_num_threads(threads)
    place = torch.device("cpu")
    if gpu_share > 0 and torch.cuda.is_available():
        place = torch.device("cuda")
        torch.use_deterministic_algorithms(True, warn_only=True)
        if gpu_share < 1:
            total = torch.cuda.get_device_properties(0).total_memory
            torch.cuda.set_per_process_memory_fraction(memory_share(gpu_share, CONTEXT_BYTES, total))
    gc.collect()
    gc.freeze()  # the libraries stay: a collection between two runs then visits only what the run left
    return place


def memory_share(gpu_share: float, context: int, total: int) -> float:
    """The share of a GPU's memory that torch may allocate for a run with this share of it, its context left out.

    `context` and `total` in bytes. At least a tenth of the share stays, however small the device: a run that needs more
    says so by failing.
    """
    return max(gpu_share - context / total, gpu_share / 10)


def gpu_memory() -> int:
    """Bytes of the GPU that this process sees first; 0 where it sees none."""
    return torch.cuda.get_device_properties(0).total_memory if torch.cuda.is_available() else 0


def peak_memory(place: torch.device) -> tuple[int, int]:
    """Bytes that this process has had at most: on its GPU, the context included, and of the machine.

    The context is what the device has lost beyond torch's own reservations, so the process must be alone on it.
    """
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # Linux counts in KiB
    if place.type != "cuda":
        return 0, resident
    free, total = torch.cuda.mem_get_info()
    context = total - free - torch.cuda.memory_reserved()
    return torch.cuda.max_memory_reserved() + context, resident


def free() -> None:
    """Give memory back after a run, so that the next one on the same worker starts as if it were the first."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def random_state(place: torch.device) -> torch.Tensor:
    """The state of the generator that dropout on this device draws from."""
    return torch.cuda.get_rng_state(place) if place.type == "cuda" else torch.get_rng_state()


def set_random_state(place: torch.device, state: torch.Tensor) -> None:
    """Go back to a state: what is drawn next is what was drawn after it."""
    if place.type == "cuda":
        torch.cuda.set_rng_state(state, place)
    else:
        torch.set_rng_state(state)


def gpus_here() -> int:
    """How many GPUs this machine shows to torch."""
    return torch.cuda.device_count()
