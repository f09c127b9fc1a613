"""The bilingual anchors of one language pair: which pairs may serve, which of them do, and what they stand for."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from seedwise.trainables.inputs.lexicons import Entry
from seedwise.trainables.stitching.options import StitchingOptions
from seedwise.trainables.stitching.tables import ZERO

LONGEST = 6  # pieces of a source entry, words of a target entry: longer ones are no anchors


@dataclass(frozen=True)
class Candidates:
    """Every pair of a lexicon that exists on both sides, in the file's order; a configuration chooses among them.

    `source` are pieces of the encoder and `target` rows of the vectors, one row per pair, filled up with -1.
    """

    source: np.ndarray
    capital: np.ndarray  # the one piece of its capitalised form, where only that is one piece ("Monday"); else -1
    target: np.ndarray
    quality: np.ndarray  # nan where the lexicon does not say
    stop: np.ndarray  # whether the target word is on the list of stop words
    exact: np.ndarray  # whether the target was found as it stands in the lexicon

    def __len__(self) -> int:
        return len(self.source)

    def only(self, kept: np.ndarray) -> "Candidates":
        return Candidates(*(getattr(self, name)[kept] for name in self.__dataclass_fields__))


@dataclass(frozen=True)
class Chosen:
    """The anchors of one run: the same pairs, in the same order, in the source space and in the target space."""

    source: Tensor
    target: np.ndarray

    def __len__(self) -> int:
        return len(self.target)


def candidates(
    entries: Iterable[Entry],
    pieces_of: Callable[[str], list[int]],
    row_of: Callable[[str], int | None],
    casings_of: Callable[[str], Iterable[str]],
    stop_words: frozenset[str] = frozenset(),
) -> Candidates:
    """Look up both sides of every entry.

    `pieces_of` gives [] for a word that the encoder cannot spell, `casings_of` the forms of a target word to try where
    it has no row itself.
    """
    found = []
    for entry in entries:
        pieces, capital = _spell(entry.source, pieces_of)
        rows, exact = _look_up(entry.target.split(), row_of, casings_of)
        if (pieces or capital >= 0) and rows and len(rows) <= LONGEST:
            found.append((pieces, capital, rows, entry, exact))
    return Candidates(
        _padded([pieces for pieces, *_ in found]),
        np.array([capital for _, capital, *_ in found], dtype=np.int64),
        _padded([rows for _, _, rows, *_ in found]),
        np.array([np.nan if entry.quality is None else entry.quality for *_, entry, _ in found], dtype=np.float32),
        np.array([entry.target in stop_words for *_, entry, _ in found], dtype=bool),
        np.array([exact for *_, exact in found], dtype=bool),
    )


def _spell(word: str, pieces_of: Callable[[str], list[int]]) -> tuple[list[int], int]:
    """A word's pieces, none where they are too many; and the piece of its capitalised form, where only that is one."""
    pieces, capital = pieces_of(word), []
    if len(pieces) != 1:
        capital = pieces_of(word.capitalize())
    return pieces if len(pieces) <= LONGEST else [], capital[0] if len(capital) == 1 else -1


def _look_up(
    words: list[str], row_of: Callable[[str], int | None], casings_of: Callable[[str], Iterable[str]]
) -> tuple[list[int], bool]:
    rows, exact = [], True
    for word in words:
        row = row_of(word)
        if row is None:
            exact = False
            row = next((row for form in casings_of(word) if (row := row_of(form)) is not None), None)
        if row is None:
            return [], False
        rows.append(row)
    return rows, exact


def _padded(lists: list[list[int]]) -> np.ndarray:
    table = np.full((len(lists), max(map(len, lists), default=1)), -1, dtype=np.int64)
    for row, values in zip(table, lists, strict=True):
        row[: len(values)] = values
    return table


def spelled(found: Candidates, options: StitchingOptions) -> np.ndarray:
    """The source side of every pair in pieces: as the lexicon has it, or capitalised where only that is one piece."""
    if options.anchor_casing == "exact":
        return found.source
    capital = found.capital[:, None] >= 0
    alone = np.full_like(found.source, -1)
    alone[:, 0] = found.capital
    return np.where(capital, alone, found.source)


def eligible(found: Candidates, options: StitchingOptions) -> np.ndarray:
    """Indices of the pairs that a configuration's rules admit, in the lexicon's order, before any draw."""
    source = spelled(found, options)
    kept = source[:, 0] >= 0
    if options.pieces == "single":
        kept &= (source[:, 1:] < 0).all(1)
    if options.phrases == "skip":
        kept &= (found.target[:, 1:] < 0).all(1)
    if options.anchor_casing == "exact":
        kept &= found.exact
    if options.stop_words == "drop":
        kept &= ~found.stop
    rated = kept & ~np.isnan(found.quality)
    if options.quality and rated.any():
        kept &= ~(found.quality < np.quantile(found.quality[rated], options.quality))
    indices = np.flatnonzero(kept)
    if options.translations == "one" and len(indices):  # the first, or the one of highest quality where there are any
        order = indices[np.argsort(-np.nan_to_num(found.quality[indices], nan=-np.inf), kind="stable")]
        first = np.unique(found.target[order], axis=0, return_index=True)[1]
        indices = np.sort(order[first])
    return indices


def draw(indices: np.ndarray, amount: int | float | str, seed: int) -> np.ndarray:
    """Keep `amount` of them, in their order: all, a number, or a share below 1.

    The draw depends on `seed` alone, so that a replicate uses the same anchors whatever else a configuration does; more
    than there are means all, and then the seed is inert.
    """
    count = len(indices) if amount == "all" else amount
    if isinstance(count, float):
        count = max(1, round(count * len(indices)))
    if count >= len(indices):
        return indices
    return indices[np.sort(np.random.default_rng(seed).permutation(len(indices))[:count])]


def choose(
    found: Candidates, options: StitchingOptions, seed: int, vectors: np.ndarray, original: Tensor
) -> Chosen | None:
    """The anchors of a run in both spaces: rows of the encoder's `original` table and of the target's `vectors`.

    None where no pair is left. A side of several pieces or words is their mean. Merged anchors are one per source
    entry, with the mean of the unit vectors of all its translations.
    """
    chosen = found.only(draw(eligible(found, options), options.anchors, seed))
    if not len(chosen):
        return None
    source, target = spelled(chosen, options), _mean(vectors, chosen.target)
    if not options.merge_anchors:
        return Chosen(torch.from_numpy(_mean(original.numpy(), source)), target)
    source, group = np.unique(source, axis=0, return_inverse=True)
    merged = np.zeros((len(source), vectors.shape[1]), dtype=np.float32)
    np.add.at(merged, group.ravel(), target / np.maximum(np.linalg.norm(target, axis=1, keepdims=True), ZERO))
    count = np.bincount(group.ravel()).astype(np.float32)
    return Chosen(torch.from_numpy(_mean(original.numpy(), source)), merged / count[:, None])


def _mean(table: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The mean of the rows that each line names; one alone is taken as it is, to the last bit."""
    result = table[rows[:, 0]].astype(np.float32, copy=True)
    several = np.flatnonzero((rows[:, 1:] >= 0).any(1))
    for line in several:
        result[line] = table[rows[line][rows[line] >= 0]].mean(0)
    return result
