"""Bilingual lexica in MUSE's form: a source word and a target word on each line, separated by a space or a tab."""

from pathlib import Path

from search.errors import RequestError
from trainables.inputs.paths import read_text


def read_lexicon(path: Path, key: str) -> list[tuple[str, str]]:
    """Pairs (source word, target word) in the file's order; repeated pairs once, lines of other lengths left out."""
    pairs: dict[tuple[str, str], None] = {}
    for line in read_text(path, key).splitlines():
        parts = line.split("\t") if "\t" in line else line.split()
        if len(parts) == 2:
            pairs[parts[0].strip(), parts[1].strip()] = None
    if not pairs:
        raise RequestError(f"{key}: {path} holds no pairs. Each line is: source word, space or tab, target word.")
    return list(pairs)
