"""Maps languages into the space of a fixed language, by given or induced dictionaries, unless the map hurts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from seedwise.errors import RequestError
from seedwise.trainables.inputs.lexicons import Lexicon
from seedwise.trainables.inputs.vectors import Vectors
from seedwise.trainables.static.evaluate import lexicon_induction
from seedwise.trainables.static.induce import induce
from seedwise.trainables.static.mapping import PRESETS, fit, normalise
from seedwise.trainables.static.options import AlignOptions
from seedwise.trainables.static.retrieval import mutual_csls, unit

HELD_OUT = 10  # every tenth fixed-language word of a dictionary is held out for selection

Progress = Callable[[str], None]  # gets a line of text


@dataclass(frozen=True)
class Aligned:
    """A language's table in the shared space, mapped or only normalised, and the reason."""

    table: np.ndarray  # float32, in the order of the language's words
    aligned: bool  # False if selection shows that the map hurts
    measure: str  # of before and after: precision_at_1 (CSLS, held-out pairs) or mutual_csls; more is better
    before: float | None  # None without selection, or if dimensions differ, so that there is no alternative
    after: float | None  # None without selection
    pairs: np.ndarray  # rows (moving, fixed) that the map was fitted on
    notes: tuple[str, ...]


def align(
    fixed: Vectors,
    moving: dict[str, Vectors],
    dictionaries: Mapping[str, Lexicon | None],
    options: AlignOptions,
    seed: int,
    *,
    device: str = "cpu",
    progress: Progress | None = None,
) -> dict[str, Aligned]:
    """Map each of the `moving` languages into the space of the fixed language: `fixed_table(fixed, options)`.

    That space is the same for all languages, and no language depends on another. A dictionary translates from the fixed
    language into a moving language; a missing dictionary is induced, which needs a GPU (`device`) with 20 000 words.
    `progress` gets a line at every iteration of the induction.
    """
    space = replace(fixed, table=fixed_table(fixed, options))
    result = {}
    for language, vectors in moving.items():
        pair = _Pair(language, space, replace(vectors, table=fixed_table(vectors, options)), options, device)
        result[language] = _align(pair, dictionaries.get(language), seed, progress)
    return result


def fixed_table(fixed: Vectors, options: AlignOptions) -> np.ndarray:
    """The vectors of the fixed language in the shared space: normalised as the preset says."""
    return normalise(fixed.table, PRESETS[options.preset].normalise)


@dataclass(frozen=True)
class _Pair:
    """The fixed language and a moving language, both normalised."""

    language: str
    fixed: Vectors
    moving: Vectors
    options: AlignOptions
    device: str

    def rows(self, lexicon: Lexicon) -> np.ndarray:
        """The pairs of a lexicon with vectors on both sides, as rows (moving, fixed), in the lexicon's order."""
        fixed, moving = ({word: row for row, word in enumerate(side.words)} for side in (self.fixed, self.moving))
        pairs = [
            (moving[entry.target], fixed[entry.source])
            for entry in lexicon.entries
            if entry.source in fixed and entry.target in moving
        ]
        if not pairs:
            raise RequestError(
                f"dictionaries.{self.language}",
                f"none of its {len(lexicon.entries)} pairs has vectors on both sides",
                f"A line is: word of the fixed language, word of {self.language}, both in the case of the vectors.",
            )
        return np.array(pairs)

    def mapped(self, pairs: np.ndarray) -> np.ndarray:
        """The whole table of the moving language, mapped by the map that is fitted on these pairs."""
        sides = self.moving.table[pairs[:, 0]], self.fixed.table[pairs[:, 1]]
        return self.moving.table @ fit(*sides, PRESETS[self.options.preset], self.options.dimensions).astype(np.float32)

    def induced(self, start: np.ndarray | None, seed: int, progress: Progress | None) -> np.ndarray:
        """Induce pairs by self-learning, from the pairs `start` or without supervision."""
        if start is not None:
            start = start[(start < self.options.cutoff).all(axis=1)]
            if not len(start):
                raise RequestError(
                    f"dictionaries.{self.language}",
                    f"no pair has both its words among the {self.options.cutoff} most frequent of their languages, so "
                    "self-learning has nothing to start from",
                    "Raise cutoff, or set self_learning to false.",
                )

        def report(iteration: int, keep: float, objective: float) -> None:
            if progress:
                progress(f"{self.language}: iteration {iteration}, keeps {keep:g}, mean cosine {objective:.4f}")

        tables = self.moving.table, self.fixed.table
        return induce(*tables, self.options, seed, start=start, device=self.device, progress=report)

    def quality(self, table: np.ndarray, held_out: np.ndarray) -> float:
        """Score how well `table`, of the moving language, fits into the space, on both languages' most frequent words.

        Precision at 1 (CSLS) from the fixed language on the pairs `held_out`; without any, the mean CSLS of mutual
        nearest neighbours.
        """
        cutoff, k = self.options.cutoff, self.options.neighbours
        fixed, moving = self.fixed.table[:cutoff], table[:cutoff]
        if not len(held_out):
            return mutual_csls(unit(fixed, self.device), unit(moving, self.device), k)
        words = self.fixed.words[:cutoff], self.moving.words[:cutoff]
        pairs = [(words[0][source], words[1][target]) for target, source in held_out]
        sides = words[0], fixed, words[1], moving
        return lexicon_induction(*sides, pairs, ks=(1,), neighbours=k, device=self.device)["csls_p1"]


def _align(pair: _Pair, lexicon: Lexicon | None, seed: int, progress: Progress | None) -> Aligned:
    options, notes = pair.options, []
    pairs, held_out = None, np.empty((0, 2), dtype=np.int64)
    if lexicon is not None:
        pairs = pair.rows(lexicon)
        notes.append(f"{len(pairs)} of {len(lexicon.entries)} pairs of the dictionary have vectors on both sides")
        if options.selection:
            pairs, held_out = hold_out(pairs, options.cutoff)
    if lexicon is None or options.self_learning:
        pairs = pair.induced(pairs, seed, progress)
    table, before, after = pair.mapped(pairs), None, None
    if options.selection:
        after = pair.quality(table, held_out)
        if pair.moving.table.shape[1] == pair.fixed.table.shape[1]:
            before = pair.quality(pair.moving.table, held_out)
        else:
            notes.append("aligned without selection, as its dimensions differ from those of the fixed language")
    hurts = before is not None and after < before
    measure = "precision_at_1" if len(held_out) else "mutual_csls"
    return Aligned(pair.moving.table if hurts else table, not hurts, measure, before, after, pairs, tuple(notes))


def hold_out(pairs: np.ndarray, cutoff: int) -> tuple[np.ndarray, np.ndarray]:
    """Split pairs (moving, fixed): those for fitting, and the pairs of every tenth distinct fixed word for selection.

    Only words below the cutoff can be held out. With fewer than ten such words, no word is held out.
    """
    frequent = (pairs < cutoff).all(axis=1)
    words = list(dict.fromkeys(pairs[frequent, 1].tolist()))[HELD_OUT - 1 :: HELD_OUT]
    selected = np.isin(pairs[:, 1], words)
    return pairs[~selected], pairs[selected & frequent]
