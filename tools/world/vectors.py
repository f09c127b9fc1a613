"""Static word vectors, trained on one language's own corpus: positive mutual information and a truncated SVD.

They stand for fastText's. Nothing of another language goes in, so their spaces are unrelated, and a smaller corpus
gives noisier vectors, which is what makes stitching hard for the distant language.
"""

from collections import Counter

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import svds

WINDOW = 2  # narrow, so that grammar blurs meaning, as in real vectors of little text
SMALLEST_COUNT = 3  # rarer words get no vector: they are the out-of-vocabulary words of the labelled text
DIMENSIONS = 50
CONTEXT_POWER = 0.75  # smooths the context counts as word2vec does, or rare contexts dominate
DECIMALS = 3


def train_vectors(sentences: list[str], dimensions: int = DIMENSIONS) -> tuple[list[str], np.ndarray]:
    """Words, most frequent first, and their vectors (one row each)."""
    counts = Counter(word for sentence in sentences for word in sentence.split())
    words = sorted((w for w, n in counts.items() if n >= SMALLEST_COUNT), key=lambda w: (-counts[w], w))
    information = _positive_information(_cooccurrence(sentences, {w: i for i, w in enumerate(words)}))
    left, strength, _ = svds(csr_array(information), k=dimensions, v0=np.ones(len(words)))
    # The square root keeps the first directions, mostly frequency and word class, from drowning out meaning.
    return words, left[:, ::-1] * np.sqrt(strength[::-1])


def _cooccurrence(sentences: list[str], index: dict[str, int]) -> np.ndarray:
    table = np.zeros((len(index), len(index)))
    for sentence in sentences:
        row = [index[word] for word in sentence.split() if word in index]
        for distance in range(1, WINDOW + 1):
            np.add.at(table, (row[:-distance], row[distance:]), 1.0)
    return table + table.T


def _positive_information(table: np.ndarray) -> np.ndarray:
    context = table.sum(axis=0) ** CONTEXT_POWER
    expected = table.sum(axis=1, keepdims=True) * (context / context.sum())
    ratio = np.divide(table, expected, out=np.ones_like(table), where=(table > 0) & (expected > 0))
    return np.log(ratio).clip(min=0)


def as_text(words: list[str], vectors: np.ndarray) -> str:
    """The fastText text format: a line "count dimensions", then a word and its numbers on each line."""
    numbers = (" ".join(f"{x:.{DECIMALS}f}" for x in vector) for vector in vectors)
    rows = (f"{word} {row}" for word, row in zip(words, numbers, strict=True))
    return "\n".join([f"{len(words)} {vectors.shape[1]}", *rows]) + "\n"
