"""The random streams of a run.

Every stream is derived from (search seed, replicate, stream name) and from nothing else: not from the configuration,
the worker or the order of starts. So replicate 3 shuffles the data in the same way for every configuration (replicates
are paired), and a run that resumes from a checkpoint draws the same numbers as an uninterrupted run.
"""

import hashlib
from dataclasses import dataclass

STREAMS = ("head", "order", "dropout", "augmentation", "anchors", "words", "masks")
DIRECTIONS = "directions"  # random directions around a trained model: no score of a run depends on this stream


@dataclass(frozen=True)
class Streams:
    """The streams of one replicate of one search.

    If `vary` names a stream, only this stream differs between replicates; all other streams are those of replicate 0,
    so this stream alone causes the spread of scores. `fixed` streams are those of replicate 0 in every replicate.
    """

    search_seed: int
    replicate: int
    vary: str | None = None
    fixed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for stream in (*self.fixed, *filter(None, [self.vary])):
            _check(stream)

    def seed(self, stream: str, *parts: int) -> int:
        """A 63-bit seed for a stream; `parts`, for example an epoch, give independent seeds within the stream."""
        if stream != DIRECTIONS:
            _check(stream)
        own = self.vary in (None, stream) and stream not in self.fixed
        text = "/".join(map(str, (self.search_seed, self.replicate if own else 0, stream, *parts)))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1

    def all_seeds(self) -> dict[str, int]:
        """The seeds of all streams, to be recorded."""
        return {stream: self.seed(stream) for stream in STREAMS}


def _check(stream: str) -> None:
    if stream not in STREAMS:
        raise ValueError(f"{stream!r} is not a stream; the streams are {', '.join(STREAMS)}")
