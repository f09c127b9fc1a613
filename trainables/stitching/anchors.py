"""The bilingual anchors of a language pair: usable pairs of the lexicon, the choice among them, and their vectors."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from seedwise.trainables.inputs.lexicons import Entry
from seedwise.trainables.inputs.text import padded
from seedwise.trainables.stitching.options import StitchingOptions
from seedwise.trainables.stitching.tables import ZERO

MAX_PARTS = 6  # most pieces of a source entry, or words of a target entry: longer entries are not used as anchors


@dataclass(frozen=True)
class LexiconPairs:
    """The pairs of a lexicon that exist on both sides, in the file's order; each configuration chooses among them.

    `source` has pieces of the encoder and `target` rows of the vectors, a row per pair, padded with -1.
    """

    source: np.ndarray
    capital: np.ndarray  # the piece of the capitalised form, if only that form is a single piece ("Monday"); else -1
    target: np.ndarray
    quality: np.ndarray  # nan if the lexicon has none
    stop: np.ndarray  # whether the target word is a stop word
    exact: np.ndarray  # whether the target has a vector in the lexicon's spelling

    def __len__(self) -> int:
        return len(self.source)

    def only(self, kept: np.ndarray) -> "LexiconPairs":
        return LexiconPairs(*(getattr(self, name)[kept] for name in self.__dataclass_fields__))


@dataclass(frozen=True)
class Anchors:
    """The anchors of a run: the same pairs, in the same order, in the source space and in the target space."""

    source: Tensor
    target: np.ndarray

    def __len__(self) -> int:
        return len(self.target)


def lexicon_pairs(
    entries: Iterable[Entry],
    pieces_of: Callable[[str], list[int]],
    row_of: Callable[[str], int | None],
    casings_of: Callable[[str], Iterable[str]],
    stop_words: frozenset[str] = frozenset(),
) -> LexiconPairs:
    """Look up both sides of every entry.

    `pieces_of` returns [] for a word that the encoder cannot spell; `casings_of` returns other forms of a target word,
    which are tried if the word has no row.
    """
    kept = []
    for entry in entries:
        pieces, capital = _spell(entry.source, pieces_of)
        rows, exact = _rows(entry.target.split(), row_of, casings_of)
        if (pieces or capital >= 0) and 0 < len(rows) <= MAX_PARTS:
            quality = np.nan if entry.quality is None else entry.quality
            kept.append((pieces, capital, rows, quality, entry.target in stop_words, exact))
    pieces, capitals, rows, qualities, stop, exact = zip(*kept, strict=True) if kept else [()] * 6
    return LexiconPairs(
        padded(pieces, -1, np.int64),
        np.array(capitals, dtype=np.int64),
        padded(rows, -1, np.int64),
        np.array(qualities, dtype=np.float32),
        np.array(stop, dtype=bool),
        np.array(exact, dtype=bool),
    )


def _spell(word: str, pieces_of: Callable[[str], list[int]]) -> tuple[list[int], int]:
    """A word's pieces ([] if too many), and the piece of its capitalised form if only that form is one piece, or -1."""
    pieces = pieces_of(word)
    capital = pieces_of(word.capitalize()) if len(pieces) != 1 else []
    return pieces if len(pieces) <= MAX_PARTS else [], capital[0] if len(capital) == 1 else -1


def _rows(
    words: list[str], row_of: Callable[[str], int | None], casings_of: Callable[[str], Iterable[str]]
) -> tuple[list[int], bool]:
    """The row of each word ([] if a word has none), and whether all words have one in their own spelling."""
    rows, exact = [row_of(word) for word in words], True
    for number, word in enumerate(words):
        if rows[number] is None:
            exact = False
            rows[number] = next((row for form in casings_of(word) if (row := row_of(form)) is not None), None)
    return ([], False) if None in rows else (rows, exact)


def spelled(pairs: LexiconPairs, options: StitchingOptions) -> np.ndarray:
    """The pieces of every source word, capitalised if the options allow it and only that form is a single piece."""
    if options.anchor_casing == "exact":
        return pairs.source
    capital = np.full_like(pairs.source, -1)
    capital[:, 0] = pairs.capital
    return np.where(pairs.capital[:, None] >= 0, capital, pairs.source)


def eligible(pairs: LexiconPairs, options: StitchingOptions) -> np.ndarray:
    """Indices of the pairs that a configuration's rules admit, in the lexicon's order, before any draw."""
    source = spelled(pairs, options)
    kept = source[:, 0] >= 0
    if options.pieces == "single":
        kept &= (source[:, 1:] < 0).all(1)
    if options.phrases == "skip":
        kept &= (pairs.target[:, 1:] < 0).all(1)
    if options.anchor_casing == "exact":
        kept &= pairs.exact
    if options.stop_words == "drop":
        kept &= ~pairs.stop
    rated = kept & ~np.isnan(pairs.quality)
    if options.quality and rated.any():
        kept &= ~(pairs.quality < np.quantile(pairs.quality[rated], options.quality))
    indices = np.flatnonzero(kept)
    if options.translations == "one" and len(indices):  # the pair of highest quality, else the first
        order = indices[np.argsort(-np.nan_to_num(pairs.quality[indices], nan=-np.inf), kind="stable")]
        first = np.unique(pairs.target[order], axis=0, return_index=True)[1]
        indices = np.sort(order[first])
    return indices


def draw(indices: np.ndarray, amount: int | float | str, seed: int) -> np.ndarray:
    """Keep `amount` of the indices, in their order: all, a number, or a share below 1.

    The draw depends on `seed` alone, so a replicate uses the same anchors whatever else a configuration changes. If
    `amount` exceeds their number, all indices are kept and the seed has no effect.
    """
    count = len(indices) if amount == "all" else amount
    if isinstance(count, float):
        count = max(1, round(count * len(indices)))
    if count >= len(indices):
        return indices
    return indices[np.sort(np.random.default_rng(seed).permutation(len(indices))[:count])]


def choose(
    pairs: LexiconPairs, options: StitchingOptions, seed: int, vectors: np.ndarray, original: Tensor
) -> Anchors | None:
    """The anchors of a run, as vectors of the encoder's `original` table and of the target's `vectors`.

    None if no pair is left. The vector of several pieces or words is their mean. If anchors are merged, each source
    entry has a single anchor, with the mean of the unit vectors of all its translations.
    """
    pairs = pairs.only(draw(eligible(pairs, options), options.anchors, seed))
    if not len(pairs):
        return None
    source, target = spelled(pairs, options), _means(vectors, pairs.target)
    if options.merge_anchors:
        source, group = np.unique(source, axis=0, return_inverse=True)
        group, unit = group.ravel(), target / np.maximum(np.linalg.norm(target, axis=1, keepdims=True), ZERO)
        target = np.zeros((len(source), vectors.shape[1]), dtype=np.float32)
        np.add.at(target, group, unit)
        target /= np.bincount(group).astype(np.float32)[:, None]
    return Anchors(torch.from_numpy(_means(original.numpy(), source)), target)


def _means(table: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """For each line of `rows`, the mean of these rows of the table; a single row is returned bit for bit."""
    result = table[rows[:, 0]].astype(np.float32, copy=True)
    for line in np.flatnonzero((rows[:, 1:] >= 0).any(1)):
        result[line] = table[rows[line][rows[line] >= 0]].mean(0)
    return result
