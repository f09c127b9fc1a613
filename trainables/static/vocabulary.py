"""Counts the words of a corpus as a stream, in bounded memory."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from seedwise.trainables.inputs.words import Words

ROOM = 2_000_000  # most distinct words that are counted at a time: about 400 MB


@dataclass(frozen=True)
class Vocabulary:
    """Words, most frequent first (equally frequent words in code point order), and their counts."""

    words: list[str]
    counts: np.ndarray
    sentences: int  # number of sentences read
    rare: int  # words left out because of `least`, `rows` or `room` (counted each time a word was dropped)
    pruned: int  # how often the rarest words were dropped because of `room`; 0: the counts are exact


def count_words(
    texts: Iterable[str], words: Words, *, least: int = 10, rows: int = 200_000, room: int = ROOM
) -> Vocabulary:
    """The words of texts, split and lower-cased by `words`, that occur `least` times or more: at most `rows` words.

    With more than `room` distinct words the rarest are dropped until three quarters of the room are taken, as in
    word2vec: first words with one occurrence so far, then words with two, and so on. A dropped word that comes back is
    counted from zero, so after p rounds a count is at most 1 + 2 + ... + p too low.
    """
    counts: Counter[str] = Counter()
    sentences = dropped = pruned = 0
    for text in texts:
        sentences += 1
        counts.update(words.split([text])[0])
        if len(counts) > room:
            while len(counts) > room * 3 // 4:  # well below the room: a round takes time
                pruned += 1
                before = len(counts)
                counts = Counter({word: count for word, count in counts.items() if count > pruned})
                dropped += before - len(counts)
    frequent = [(word, count) for word, count in counts.items() if count >= least]
    kept = sorted(frequent, key=lambda entry: (-entry[1], entry[0]))[:rows]
    return Vocabulary(
        words=[word for word, _ in kept],
        counts=np.array([count for _, count in kept], dtype=np.int64),
        sentences=sentences,
        rare=dropped + len(counts) - len(kept),
        pruned=pruned,
    )
