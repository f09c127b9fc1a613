"""The words of a corpus and how often they occur, counted as a stream in bounded memory."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from seedwise.trainables.inputs.words import Words

ROOM = 2_000_000  # different words that are counted at a time: about 400 MB


@dataclass(frozen=True)
class Vocabulary:
    """Words, most frequent first (equally frequent ones by their letters), and how often each occurs."""

    words: list[str]
    counts: np.ndarray
    sentences: int  # that were counted
    rare: int  # words left out, for want of `least` occurrences, of `rows`, or of room (each time they were forgotten)
    pruned: int  # how often the rarest were forgotten for want of room; 0: the counts are exact


def count_words(
    texts: Iterable[str], words: Words, *, least: int = 10, rows: int = 200_000, room: int = ROOM
) -> Vocabulary:
    """The words of texts, split and brought to lower case by `words`, that occur `least` times: at most `rows` of them.

    Where there are more than `room` different words, the rarest are forgotten until three quarters of the room are
    taken, as word2vec does: first those with one occurrence so far, then those with two, and so on. A forgotten word
    that comes back is counted from zero, so after p rounds a count is at most 1 + 2 + ... + p too low.
    """
    counts: Counter[str] = Counter()
    sentences = forgotten = pruned = 0
    for text in texts:
        sentences += 1
        counts.update(words.split([text])[0])
        if len(counts) > room:
            while len(counts) > room * 3 // 4:  # not just below the room: every pass has to be worth its time
                pruned += 1
                before = len(counts)
                counts = Counter({word: count for word, count in counts.items() if count > pruned})
                forgotten += before - len(counts)
    frequent = [(word, count) for word, count in counts.items() if count >= least]
    frequent.sort(key=lambda entry: (-entry[1], entry[0]))
    kept = frequent[:rows]
    return Vocabulary(
        [word for word, _ in kept],
        np.array([count for _, count in kept], dtype=np.int64),
        sentences,
        forgotten + len(counts) - len(kept),
        pruned,
    )
