"""How many runs fit at once: CPU slots and fractions of GPUs."""

import math
import os
from dataclasses import dataclass

from search.errors import RequestError


@dataclass(frozen=True)
class Placement:
    """What one run occupies, and how many run side by side."""

    cpus: int
    gpus: float
    slots: int

    @classmethod
    def of(cls, resources: dict, cpus: float, gpus: float) -> "Placement":
        """Fit the resources of one run into a machine or cluster with so many CPUs and GPUs.

        `gpus_per_run: auto` takes a whole GPU where there are any. A fraction is packed per GPU: at 0.4 two runs share
        one GPU, and the fifth part left over on each is no place for a third.
        """
        per_run = resources["gpus_per_run"]
        if per_run == "auto":
            per_run = 1.0 if gpus >= 1 else 0.0
        slots = int(cpus // resources["cpus_per_run"])
        if slots < 1:
            raise RequestError(
                f"resources.cpus_per_run: {resources['cpus_per_run']}, but there are {cpus:g} CPUs. Set it lower."
            )
        if per_run > 0:
            slots = min(slots, int(gpus // per_run) if per_run >= 1 else int(gpus) * math.floor(1 / per_run + 1e-9))
        if slots < 1:
            raise RequestError(
                f"resources.gpus_per_run: {per_run:g}, but there are {gpus:g} GPUs. Set it to auto, or lower."
            )
        return cls(resources["cpus_per_run"], per_run, slots)


def this_machine(resources: dict) -> Placement:
    """The placement on this machine alone, before Ray runs."""
    gpus = 0
    if resources["gpus_per_run"] != 0:
        from trainables.device import gpus_here

        gpus = gpus_here()
    return Placement.of(resources, os.cpu_count() or 1, gpus)
