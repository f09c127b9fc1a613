"""Which blocks and which words a step gets: a function of the step alone, so that a run can go on anywhere."""

from collections.abc import Callable

import numpy as np


class Draws:
    """Batches of `size` of `count` things. `seed_of` gives a seed for a number.

    They come in passes over all things, each shuffled anew: what is left at the end of a pass is too little for a batch
    and waits for a pass in which it comes earlier. With `anew` every batch is the start of a shuffle of its own, as the
    released code has it (D6): one pass's worth of batches then misses a third of the things.
    """

    def __init__(self, count: int, size: int, seed_of: Callable[[int], int], *, anew: bool = False):
        self.count, self.size, self.seed_of = count, min(size, count), seed_of
        self.batches = 1 if anew else self.count // self.size  # of a pass
        self._number, self._shuffled = -1, np.empty(0, dtype=np.int64)

    def rows(self, step: int) -> np.ndarray:
        """The things of a step, all different."""
        number, batch = divmod(step, self.batches)
        if number != self._number:
            self._number, self._shuffled = number, np.random.default_rng(self.seed_of(number)).permutation(self.count)
        return self._shuffled[batch * self.size : (batch + 1) * self.size]
