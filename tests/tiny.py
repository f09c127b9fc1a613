"""A small part of the embedded world, for tests that need any searchable task.

Two of its six classes, a few dozen sentences: a run takes a fraction of a second and still learns. Languages keep the
same rows, so their sentences stay translations of each other.
"""

import gzip
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path

from seedwise.trainables.world import FILES

CLASSES = ("farming", "sailing")
ROWS = {"train": 48, "dev": 20, "test": 20}


def topics(
    folder: Path, languages: Sequence[str] = ("qel", "qan", "qor"), rows: Mapping[str, int] = ROWS
) -> dict[str, list[tuple[str, str]]]:
    """Write a tiny world's task, a folder for `task.data`: the first `rows` rows of two classes in each split.

    Returns the class and text of every written row by "language/split".
    """
    written = {}
    for language in languages:
        (folder / language).mkdir(parents=True)
        (folder / language / "labels.txt").write_text("".join(f"{name}\n" for name in CLASSES))
        for split, count in rows.items():
            head, *lines = (FILES / "topics" / language / f"{split}.tsv").read_text().splitlines()
            kept = [line for line in lines if line.split("\t")[1] in CLASSES][:count]
            (folder / language / f"{split}.tsv").write_text("".join(f"{line}\n" for line in [head, *kept]))
            written[f"{language}/{split}"] = [tuple(line.split("\t")[1:]) for line in kept]
    return written


def text(folder: Path, languages: Sequence[str] = ("qel", "qan", "qor"), lines: int = 1000) -> str:
    """Write the beginnings of the unlabelled texts; returns what `inputs.text` is then."""
    folder.mkdir(parents=True, exist_ok=True)
    for language in languages:
        with gzip.open(FILES / "text" / f"{language}.txt.gz", "rt", encoding="utf-8") as whole:
            (folder / f"{language}.txt").write_text("".join(islice(whole, lines)), encoding="utf-8")
    return f"{folder}/{{language}}.txt"


def words(changes: Sequence[str]) -> list[str]:
    """Changes of a specification as arguments of the command line."""
    return [word for change in changes for word in ("--set", change)]
