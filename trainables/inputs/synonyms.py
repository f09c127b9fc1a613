"""Dictionaries of synonyms: the counter-fitted neighbours in their published form (JSON), or lines of text."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from seedwise.errors import RequestError
from seedwise.trainables.inputs.files import Skipped, read_lines

EXPECTED = 'Write a JSON object {"word": ["synonym", ...]}, or lines: word, tab, synonyms.'


@dataclass(frozen=True)
class Synonyms:
    """The synonyms of each word (some words have none) in the file's order, and notes on lines that were left out."""

    words: dict[str, tuple[str, ...]]
    notes: tuple[str, ...]


def read_synonyms(path: Path, key: str) -> Synonyms:
    """Read a dictionary, also from a .gz file. A word is never its own synonym.

    In a file of lines, the word ends at the first tab. Tabs, commas or semicolons separate synonyms, which may then
    hold spaces; otherwise spaces separate synonyms. A repeated word gets the synonyms of all its lines.
    """
    lines, malformed = read_lines(path, key), Skipped("malformed line")
    if Path(path.name.removesuffix(".gz")).suffix == ".json":
        listed = _from_json("\n".join(lines), path, key)
    else:
        listed: dict[str, list[str]] = {}
        for number, line in enumerate(lines, start=1):
            word, tab, rest = line.strip("\r").partition("\t")
            if not line.strip():
                continue
            if not tab or not word.strip():
                malformed.add(number)
                continue
            parts = re.split(r"[\t,;]", rest) if re.search(r"[\t,;]", rest.strip()) else rest.split()
            listed.setdefault(word.strip(), []).extend(map(str.strip, parts))
    words = {
        word: tuple(dict.fromkeys(synonym for synonym in synonyms if synonym not in ("", word)))
        for word, synonyms in listed.items()
    }
    if malformed.count > len(words):
        raise RequestError(key, f"{path}: {malformed}", EXPECTED)
    if not any(words.values()):
        raise RequestError(key, f"{path} holds no word with a synonym", EXPECTED)
    return Synonyms(words, (str(malformed),) if malformed.count else ())


def _from_json(text: str, path: Path, key: str) -> dict[str, list[str]]:
    try:
        content = json.loads(text)
    except ValueError as error:
        raise RequestError(key, f"{path}: not JSON: {error}", EXPECTED) from error
    if not isinstance(content, dict):
        raise RequestError(key, f"{path} is {type(content).__name__}, not an object of words", EXPECTED)
    for word, synonyms in content.items():
        if not isinstance(synonyms, list) or not all(isinstance(synonym, str) for synonym in synonyms):
            raise RequestError(key, f"{path}: {word!r} has {synonyms!r:.80}, which is not a list of words", EXPECTED)
    return content
