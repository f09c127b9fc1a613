"""Dictionaries of synonyms: the counter-fitted neighbours as they are published (JSON), or lines of text."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from seedwise.errors import RequestError
from seedwise.trainables.inputs.reading import Skipped, read_lines

FORM = 'Write a JSON object {"word": ["synonym", ...]}, or lines: word, tab, synonyms.'


@dataclass(frozen=True)
class Synonyms:
    """Word to synonyms in the file's order, words without any among them, and what was left out, a line per kind."""

    words: dict[str, tuple[str, ...]]
    notes: tuple[str, ...]


def read_synonyms(path: Path, key: str) -> Synonyms:
    """Read a dictionary, from a .gz file too. A word is no synonym of itself.

    In a file of lines the word ends at the first tab. Synonyms are separated by tabs, commas or semicolons, and may
    then hold spaces; where there are none of these, spaces separate them. A word that stands twice has all of both.
    """
    lines = read_lines(path, key)
    malformed = Skipped("malformed line")
    if Path(path.name.removesuffix(".gz")).suffix == ".json":
        found = _from_json("\n".join(lines), path, key)
    else:
        found: dict[str, list[str]] = {}
        for number, line in enumerate(lines, start=1):
            word, tab, rest = line.strip("\r").partition("\t")
            if not line.strip():
                continue
            if not tab or not word.strip():
                malformed.add(number)
                continue
            parts = re.split(r"[\t,;]", rest) if re.search(r"[\t,;]", rest.strip()) else rest.split()
            found.setdefault(word.strip(), []).extend(part.strip() for part in parts)
    words = {
        word: tuple(dict.fromkeys(one for one in synonyms if one and one != word)) for word, synonyms in found.items()
    }
    if malformed.count > len(words):
        raise RequestError(key, f"{path}: {malformed}", FORM)
    if not any(words.values()):
        raise RequestError(key, f"{path} holds no word with a synonym", FORM)
    return Synonyms(words, (str(malformed),) if malformed.count else ())


def _from_json(text: str, path: Path, key: str) -> dict[str, list[str]]:
    try:
        content = json.loads(text)
    except ValueError as error:
        raise RequestError(key, f"{path}: not JSON: {error}", FORM) from error
    if not isinstance(content, dict):
        raise RequestError(key, f"{path} is {type(content).__name__}, not an object of words", FORM)
    for word, synonyms in content.items():
        if not isinstance(synonyms, list) or not all(isinstance(one, str) for one in synonyms):
            raise RequestError(key, f"{path}: {word!r} has {synonyms!r:.80}, which is no list of words", FORM)
    return content
