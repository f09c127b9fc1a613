"""Bilingual lexica in MUSE's format, with or without a quality, and word lists."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from seedwise.errors import RequestError
from seedwise.trainables.inputs.files import Skipped, read_lines

EXPECTED = "Each line is: source word, space or tab, target word."


class Entry(NamedTuple):
    """A translation. `quality` is the file's third column in the file's own unit (PanLex: more is better), or None."""

    source: str
    target: str
    quality: float | None


@dataclass(frozen=True)
class Lexicon:
    """Distinct entries in the file's order, and notes on the lines that were left out."""

    entries: list[Entry]
    notes: tuple[str, ...]


def read_lexicon(path: Path, key: str, *, quality: float | None = None) -> Lexicon:
    """Read `source target [quality]` lines, also from a .gz file.

    Columns are separated by tabs, in which case words may hold spaces, or by spaces. A repeated pair gets its best
    quality. Entries below `quality` are left out (default None: no entry); entries without a quality stay.
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
        qualities = [value for value in (pairs.get(pair), entry.quality) if value is not None]
        pairs[pair] = max(qualities, default=None)
    if not pairs:
        raise RequestError(key, f"{path} holds no pairs", EXPECTED)
    if malformed.count > len(pairs):
        raise RequestError(key, f"{path}: {malformed}", EXPECTED)
    entries = [
        Entry(*pair, value) for pair, value in pairs.items() if quality is None or value is None or value >= quality
    ]
    if not entries:
        best = max(pairs.values())
        raise RequestError(
            key, f"{path} has no pair of quality {quality:g} or more, the best has {best:g}", "Ask for less."
        )
    notes = [str(skipped) for skipped in (malformed, repeated) if skipped.count]
    if len(entries) < len(pairs):
        notes.append(f"{len(pairs) - len(entries)} of {len(pairs)} pairs below quality {quality:g}")
    return Lexicon(entries, tuple(notes))


def read_words(path: Path, key: str) -> frozenset[str]:
    """The words of a list such as stop words, one word per line, also from a .gz file."""
    return frozenset(word for line in read_lines(path, key) if (word := line.strip()))


def _entry(line: str) -> Entry | None:
    """The entry of a line; None if the line is malformed."""
    line = line.strip()
    parts = [part.strip() for part in line.split("\t")] if "\t" in line else line.split()
    if len(parts) not in (2, 3) or not all(parts):
        return None
    try:
        quality = float(parts[2]) if len(parts) == 3 else None
    except ValueError:
        return None
    return Entry(*parts[:2], quality) if quality is None or math.isfinite(quality) else None
