"""Which blocks and which words a step gets: a function of the step alone, so that a run can go on anywhere."""

from collections.abc import Callable

import numpy as np


class Draws:
    """Batches of `size` of `count` things. `seed_of` gives a seed for a number.

    They come in passes over all things, each shuffled anew: what is left at the end of a pass is too little for a batch
    and waits for a pass in which it comes earlier. With `anew`, a number, every so many things of a batch are drawn for
    themselves, as the released code does (D6): one pass's worth of batches then misses a third of the things.
    """

    def __init__(self, count: int, size: int, seed_of: Callable[[int], int], *, anew: int = 0):
        self.count, self.size, self.seed_of, self.anew = count, min(size, count), seed_of, anew
        self._number, self._shuffled = -1, np.empty(0, dtype=np.int64)

    def rows(self, step: int) -> np.ndarray:
        """The things of a step. In passes they are all different."""
        if self.anew:
            parts = -(-self.size // self.anew)
            draws = (np.random.default_rng(self.seed_of(step * parts + part)) for part in range(parts))
            drawn = [draw.choice(self.count, min(self.anew, self.count), replace=False) for draw in draws]
            return np.concatenate(drawn)[: self.size]
        number, batch = divmod(step, self.count // self.size)
        if number != self._number:
            self._number, self._shuffled = number, np.random.default_rng(self.seed_of(number)).permutation(self.count)
        return self._shuffled[batch * self.size : (batch + 1) * self.size]
