"""Tests of word similarity as they are published: pairs of words with a human score."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from seedwise.errors import RequestError
from seedwise.trainables.inputs.reading import Skipped, read_lines

DATA, GOLD = ".data.txt", ".gold.txt"  # SemEval-2017's names: scores are in a file of their own


class Judged(NamedTuple):
    """Two words or phrases, and how similar people find them, in the file's own unit (more is more similar)."""

    first: str
    second: str
    score: float


@dataclass(frozen=True)
class Judgements:
    """Pairs in the file's order, and what was left out."""

    pairs: list[Judged]
    notes: tuple[str, ...]


def read_judgements(path: Path, key: str) -> Judgements:
    """Read `word word score` lines (MUSE), separated by tabs, and then phrases may hold spaces, or by white space.

    Of a file NAME.data.txt (SemEval-2017) the scores are in NAME.gold.txt, beside it or in the folder `keys` beside
    its own. Lines of another form, such as phrases between spaces, are left out and noted; more than half is an error.
    """
    lines = read_lines(path, key)
    if path.name.endswith(DATA):
        lines = _joined(lines, path, key)
    malformed = Skipped("malformed line")
    pairs = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        judged = _judged(line)
        if judged is None:
            malformed.add(number)
        else:
            pairs.append(judged)
    if malformed.count > len(pairs) or not pairs:
        problem = str(malformed) if malformed.count else "no pairs"
        raise RequestError(key, f"{path}: {problem}", "Each line is: word, word, score, with tabs between.")
    return Judgements(pairs, (str(malformed),) if malformed.count else ())


def _joined(lines: list[str], path: Path, key: str) -> list[str]:
    """Lines of words with their scores, which are in another file."""
    name = path.name.removesuffix(DATA) + GOLD
    gold = next((at for at in (path.with_name(name), path.parent.parent / "keys" / name) if at.exists()), None)
    if gold is None:
        raise RequestError(key, f"{path}: there is no {name} beside it or in ../keys", "Put the scores there.")
    words, scores = ([line.strip() for line in one if line.strip()] for one in (lines, read_lines(gold, key)))
    if len(words) != len(scores):
        raise RequestError(key, f"{path} has {len(words)} lines and {gold} {len(scores)}", "Each pair needs its score.")
    return [f"{pair}\t{score}" for pair, score in zip(words, scores, strict=True)]


def _judged(line: str) -> Judged | None:
    parts = [part.strip() for part in line.split("\t")] if "\t" in line else line.split()
    if len(parts) != 3 or not all(parts):
        return None
    try:
        score = float(parts[2])
    except ValueError:
        return None
    return Judged(parts[0], parts[1], score) if math.isfinite(score) else None
