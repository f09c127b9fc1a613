"""Reads published tests of word similarity: pairs of words with a human score."""

import math
from pathlib import Path

from seedwise.errors import RequestError
from seedwise.trainables.inputs.files import Skipped, read_lines

# Two words or phrases, and the human score of their similarity in the file's own unit (more is more similar).
Judgement = tuple[str, str, float]

DATA, GOLD = ".data.txt", ".gold.txt"  # SemEval-2017 has a separate file of scores


def read_judgements(path: Path, key: str) -> list[Judgement]:
    """Read `word word score` lines (MUSE), separated by tabs, in which case phrases may hold spaces, or by white space.

    For a file NAME.data.txt (SemEval-2017) the scores are read from NAME.gold.txt in the same folder or in ../keys.
    Malformed lines, such as phrases between spaces, are left out; if more than half are malformed, it is an error.
    """
    lines = read_lines(path, key)
    if path.name.endswith(DATA):
        lines = _with_scores(lines, path, key)
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
    return pairs


def _with_scores(lines: list[str], path: Path, key: str) -> list[str]:
    """The lines with their scores appended, which are in another file."""
    name = path.name.removesuffix(DATA) + GOLD
    gold = next((at for at in (path.with_name(name), path.parent.parent / "keys" / name) if at.exists()), None)
    if gold is None:
        raise RequestError(key, f"{path}: there is no {name} beside it or in ../keys", "Put the scores there.")
    words, scores = ([line.strip() for line in part if line.strip()] for part in (lines, read_lines(gold, key)))
    if len(words) != len(scores):
        raise RequestError(key, f"{path} has {len(words)} lines and {gold} {len(scores)}", "Each pair needs its score.")
    return [f"{pair}\t{score}" for pair, score in zip(words, scores, strict=True)]


def _judged(line: str) -> Judgement | None:
    """The pair of a line; None if the line is malformed."""
    parts = [part.strip() for part in line.split("\t")] if "\t" in line else line.split()
    try:
        first, second, score = parts
        judged = first, second, float(score)
    except ValueError:
        return None
    return judged if first and second and math.isfinite(judged[2]) else None
