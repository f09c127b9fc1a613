"""Corpora of plain text, a sentence per line: streamed, filtered and shuffled in bounded memory.

A blank line ends a paragraph. Files are UTF-8 text, plain or compressed with gzip (.gz).
"""

import random
from collections.abc import Callable, Iterable, Iterator, Sized
from itertools import islice
from pathlib import Path

from pydantic.dataclasses import dataclass

from seedwise.errors import RequestError
from seedwise.trainables.inputs.files import Skipped, opened, readable
from seedwise.trainables.spec import Count
from seedwise.trainables.training.options import STRICT

Line = tuple[int, str | None]  # the line's number from 1, and its text, or None if it is too long


@dataclass(frozen=True, config=STRICT)
class Filters:
    """Limits on the sentences that are read. Defaults are the paper's (section 3.1, appendix C), except `longest`."""

    least_words: int = 7  # words: shorter sentences are left out
    least_sentences: int = 2  # sentences: smaller paragraphs (such as headlines) are left out
    most_sentences: Count = 1_000_000  # sentences: the rest of the file is not read
    longest: Count = 2_000  # characters: longer lines are hardly single sentences, and are left out


class LeftOut:
    """Counts of the lines left out, by reason, with the first line numbers for each reason."""

    def __init__(self) -> None:
        self.short = Skipped("short sentence")
        self.lonely = Skipped("small-paragraph sentence")
        self.long = Skipped("overlong line")
        self.unread_from = 0  # the first line that was not read; 0: the file was read to its end

    def notes(self) -> tuple[str, ...]:
        """A phrase for each reason that occurred."""
        unread = (f"all from line {self.unread_from} on, unread",) if self.unread_from else ()
        return tuple(str(skipped) for skipped in (self.short, self.lonely, self.long) if skipped.count) + unread


def sentences(
    path: Path,
    key: str,
    filters: Filters,
    *,
    words: Callable[[str], Sized] = str.split,
    left_out: LeftOut | None = None,
) -> Iterator[str]:
    """The sentences of a corpus that pass the filters, stripped, in the file's order.

    `key` names the file in errors. `words` splits a sentence into the words that `least_words` counts; the default
    splits at white space, which does not suit Chinese. Lines left out are added to `left_out`. A file without blank
    lines has no paragraphs, so `least_sentences` does not apply.
    """
    left_out = left_out or LeftOut()
    passed = 0
    lines = _lines(path, key, filters.longest)
    for number, text in _large_paragraphs(lines, filters.least_sentences, left_out.lonely):
        if text is None:
            left_out.long.add(number)
        elif len(words(text)) < filters.least_words:
            left_out.short.add(number)
        elif passed == filters.most_sentences:
            left_out.unread_from = number
            return
        else:
            passed += 1
            yield text


def shuffled(items: Iterable[str], size: int, seed: int) -> Iterator[str]:
    """The items in a random order that depends on the seed, with at most `size` (1 or more) items in memory.

    Each item is drawn from `size` waiting items, and the next item takes its place. If `size` is the number of items,
    every order is equally likely; with a smaller `size` no item comes more than `size` positions early.
    """
    draw, source = random.Random(seed), iter(items)
    waiting = list(islice(source, size))
    while waiting:
        drawn = draw.randrange(len(waiting))
        waiting[drawn], waiting[-1] = waiting[-1], waiting[drawn]
        yield waiting.pop()
        waiting.extend(islice(source, 1))


def _large_paragraphs(lines: Iterable[Line], least: int, lonely: Skipped) -> Iterator[Line]:
    """Lines of paragraphs with `least` lines or more; all lines of a file without blank lines."""
    held_back: list[Line] = []  # the first lines of a paragraph, as long as these are fewer than `least`
    length, divided = 0, False
    for line in lines:
        if line[1] == "":
            for number, _ in held_back:
                lonely.add(number)
            held_back.clear()
            length, divided = 0, True
            continue
        length += 1
        held_back.append(line)
        if length >= least:
            yield from held_back
            held_back.clear()
    if not divided:
        yield from held_back
        return
    for number, _ in held_back:
        lonely.add(number)


def _lines(path: Path, key: str, longest: int) -> Iterator[Line]:
    """All lines. Overlong lines are read in parts, so that a file without line ends does not fill the memory."""
    number, room = 0, 4 * longest + 2  # bytes: UTF-8 has at most 4 per character, and a line end has 2
    try:
        with readable(path, key), opened(path) as file:
            while line := file.readline(room):
                number += 1
                if len(line) == room and not line.endswith(b"\n"):
                    while (rest := file.readline(room)) and not rest.endswith(b"\n"):
                        pass
                    yield number, None
                    continue
                text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
                yield number, text if len(text) <= longest else None
    except UnicodeDecodeError as error:
        raise RequestError(key, f"{path} line {number} is not UTF-8", "Convert the file to UTF-8.") from error
