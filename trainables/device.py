"""Everything that depends on the hardware a run sits on."""

import gc

import torch


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
            torch.cuda.set_per_process_memory_fraction(memory_share(gpu_share))
    gc.collect()
    gc.freeze()  # the libraries stay: a collection between two runs then visits only what the run left
    return place


def memory_share(gpu_share: float) -> float:
    """The share of a GPU's memory that a run may allocate; whole GPUs have no cap."""
    return min(1.0, gpu_share)


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
