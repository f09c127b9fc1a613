"""What a model of a landscape is trained on in an epoch: the source, a target, or both, at equal updates or epochs."""

import numpy as np

from seedwise.trainables.streams import Streams


def rows_of(pool: int, size: int, epoch: int, streams: Streams) -> np.ndarray:
    """Rows of a training set of `pool` examples that epoch `epoch` sees, `size` of them: all, where it has as many.

    Otherwise the epochs walk through the set, shuffled anew for each time around: every example comes once before any
    comes again. So each epoch has the same number of updates, whatever the model is trained on.
    """
    if pool == size:
        return np.arange(pool)
    first, last = epoch * size, (epoch + 1) * size
    rounds = range(first // pool, -(-last // pool))
    walks = [np.random.default_rng(streams.seed("order", -1, turn)).permutation(pool) for turn in rounds]
    begin = first - rounds[0] * pool
    return np.concatenate(walks)[begin : begin + size]
