"""Where the random numbers of a run come from.

Every stream is derived from (search seed, replicate, stream name) and from nothing else: not from the configuration,
the worker or the order of starts. So replicate 3 shuffles the data in the same way for every configuration (they are
paired), and a run that goes on from a checkpoint draws what it would have drawn.
"""

import hashlib
from dataclasses import dataclass

STREAMS = ("head", "order", "dropout", "augmentation", "anchors", "words", "masks")


@dataclass(frozen=True)
class Streams:
    """The streams of one replicate of one search."""

    search_seed: int
    replicate: int

    def seed(self, stream: str, *parts: int) -> int:
        """A 63-bit seed for a stream; `parts` (an epoch, say) give independent seeds within it."""
        if stream not in STREAMS:
            raise ValueError(f"{stream!r} is not a stream; there are {', '.join(STREAMS)}")
        text = "/".join(map(str, (self.search_seed, self.replicate, stream, *parts)))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1

    def all_seeds(self) -> dict[str, int]:
        """Every stream's seed, for the record."""
        return {stream: self.seed(stream) for stream in STREAMS}
