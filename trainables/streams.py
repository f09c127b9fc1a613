"""Where the random numbers of a run come from.

Every stream is derived from (search seed, replicate, stream name) and from nothing else: not from the configuration,
the worker or the order of starts. So replicate 3 shuffles the data in the same way for every configuration (they are
paired), and a run that goes on from a checkpoint draws what it would have drawn.
"""

import hashlib
from dataclasses import dataclass

STREAMS = ("head", "order", "dropout", "augmentation", "anchors", "words", "masks")
DIRECTIONS = "directions"  # random directions around a trained model: no score of a run depends on this stream


@dataclass(frozen=True)
class Streams:
    """The streams of one replicate of one search.

    With `vary`, the name of a stream, only that one is the replicate's; all others are those of replicate 0. The spread
    over such replicates is what this stream alone brings. `fixed` streams are replicate 0's for every replicate.
    """

    search_seed: int
    replicate: int
    vary: str | None = None
    fixed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for stream in (*self.fixed, *filter(None, [self.vary])):
            _check(stream)

    def seed(self, stream: str, *parts: int) -> int:
        """A 63-bit seed for a stream; `parts` (an epoch, say) give independent seeds within it."""
        if stream != DIRECTIONS:
            _check(stream)
        own = self.vary in (None, stream) and stream not in self.fixed
        text = "/".join(map(str, (self.search_seed, self.replicate if own else 0, stream, *parts)))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1

    def all_seeds(self) -> dict[str, int]:
        """Every stream's seed, for the record."""
        return {stream: self.seed(stream) for stream in STREAMS}


def _check(stream: str) -> None:
    if stream not in STREAMS:
        raise ValueError(f"{stream!r} is not a stream; there are {', '.join(STREAMS)}")
