"""Bilingual lexica in MUSE's form, with or without a quality, and lists of words."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from seedwise.errors import RequestError
from seedwise.trainables.inputs.reading import Skipped, read_lines


class Entry(NamedTuple):
    """A translation. Quality is the file's third column, in the file's own unit (PanLex: more is better), or None."""

    source: str
    target: str
    quality: float | None


@dataclass(frozen=True)
class Lexicon:
    """Entries in the file's order, each pair once, and one line per kind of thing that was left out."""

    entries: list[Entry]
    notes: tuple[str, ...]


def read_lexicon(path: Path, key: str, *, quality: float | None = None) -> Lexicon:
    """Read `source target [quality]` lines, from a .gz file too.

    Columns are separated by a tab, and then words may hold spaces, or by spaces. Of a pair that stands twice the best
    quality counts. `quality` (default None: all) leaves out entries below it; entries without a quality stay.
    """
    pairs: dict[tuple[str, str], float | None] = {}
    malformed, repeated = Skipped("malformed line"), Skipped("repeated pair")
    for number, line in enumerate(read_lines(path, key), start=1):
        if not line.strip():
            continue
        entry = _entry(line)
        if entry is None:
            malformed.add(number)
            continue
        pair = entry.source, entry.target
        if pair in pairs:
            repeated.add(number)
        known = [value for value in (pairs.get(pair), entry.quality) if value is not None]
        pairs[pair] = max(known, default=None)
    entries = [Entry(*pair, value) for pair, value in pairs.items()]
    kept = [entry for entry in entries if quality is None or entry.quality is None or entry.quality >= quality]
    if not entries:
        raise RequestError(key, f"{path} holds no pairs", "Each line is: source word, space or tab, target word.")
    if malformed.count > len(entries):
        raise RequestError(key, f"{path}: {malformed}", "Each line is: source word, space or tab, target word.")
    if not kept:
        best = max(entry.quality for entry in entries)
        raise RequestError(
            key, f"{path} has no pair of quality {quality:g} or more, the best has {best:g}", "Ask for less."
        )
    notes = [str(noted) for noted in (malformed, repeated) if noted.count]
    if len(kept) < len(entries):
        notes.append(f"{len(entries) - len(kept)} of {len(entries)} pairs below quality {quality:g}")
    return Lexicon(kept, tuple(notes))


def read_words(path: Path, key: str) -> frozenset[str]:
    """The words of a list such as stop words, one a line, from a .gz file too."""
    return frozenset(word for line in read_lines(path, key) if (word := line.strip()))


def _entry(line: str) -> Entry | None:
    """The entry of a line, or None where it is none."""
    line = line.strip()
    parts = [part.strip() for part in line.split("\t")] if "\t" in line else line.split()
    if len(parts) == 2 and all(parts):
        return Entry(*parts, None)
    if len(parts) == 3 and all(parts):
        try:
            value = float(parts[2])
        except ValueError:
            return None
        return Entry(parts[0], parts[1], value) if math.isfinite(value) else None
    return None
