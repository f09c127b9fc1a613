"""Corpora of plain text, one sentence a line: read as a stream, filtered and shuffled. Memory does not grow with them.

A blank line ends a paragraph. Files are UTF-8 text, or the same packed with gzip (.gz).
"""

import random
from collections.abc import Callable, Iterable, Iterator, Sized
from itertools import islice
from pathlib import Path
from typing import TypeVar

from pydantic.dataclasses import dataclass

from seedwise.errors import RequestError
from seedwise.trainables.inputs.reading import Skipped, opened, readable
from seedwise.trainables.spec import Count
from seedwise.trainables.training.options import STRICT

Item = TypeVar("Item")
Line = tuple[int, str | None]  # its number from 1, and its text; None where that is too long


@dataclass(frozen=True, config=STRICT)
class Filters:
    """Which sentences of a corpus are read. Defaults are the paper's (section 3.1, appendix C), but for `longest`."""

    least_words: int = 7  # words: sentences with fewer are left out
    least_sentences: int = 2  # sentences: those of paragraphs with fewer (headlines, say) are left out
    most_sentences: Count = 1_000_000  # sentences: once so many have passed, the rest of the file is not read
    longest: Count = 2_000  # characters: a longer line is hardly one sentence, and is left out


class LeftOut:
    """What a reading left out, by reason, with the first line numbers of each."""

    def __init__(self) -> None:
        self.short = Skipped("short sentence")
        self.lonely = Skipped("small-paragraph sentence")
        self.long = Skipped("overlong line")
        self.unread_from = 0  # the line at which there were enough sentences; 0: the file was read to its end

    def notes(self) -> tuple[str, ...]:
        """One phrase for each reason that occurred."""
        unread = (f"all from line {self.unread_from} on, unread",) if self.unread_from else ()
        return tuple(str(noted) for noted in (self.short, self.lonely, self.long) if noted.count) + unread


def sentences(
    path: Path,
    key: str,
    filters: Filters | None = None,
    *,
    words: Callable[[str], Sized] = str.split,
    left_out: LeftOut | None = None,
) -> Iterator[str]:
    """The sentences of a corpus that pass the filters (None: the defaults), in the file's order, without outer space.

    `key` names the file in errors. `words` splits a sentence into the words that `least_words` counts; the default
    splits at white space, which is no measure for Chinese, say. What is left out is added to `left_out`. A file without
    blank lines has no paragraphs to judge, and `least_sentences` is off.
    """
    filters, left_out = filters or Filters(), left_out or LeftOut()
    passed = 0
    lines = _lines(path, key, filters.longest)
    for number, text in _of_large_paragraphs(lines, filters.least_sentences, left_out.lonely):
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


def shuffled(items: Iterable[Item], size: int, seed: int) -> Iterator[Item]:
    """The items in a random order, the same for the same seed, with at most `size` (1 or more) of them in memory.

    Each that comes out is drawn from `size` that wait, and the next one takes its place. So with a `size` of all items
    every order is equally likely; with a smaller one an item can come late, but never more than `size` places early.
    """
    if size < 1:
        raise ValueError(f"a shuffle needs room for 1 item or more, not {size}")
    draw, source = random.Random(seed), iter(items)
    waiting = list(islice(source, size))
    while waiting:
        place = draw.randrange(len(waiting))
        waiting[place], waiting[-1] = waiting[-1], waiting[place]
        yield waiting.pop()
        waiting.extend(islice(source, 1))


def _of_large_paragraphs(lines: Iterable[Line], least: int, lonely: Skipped) -> Iterator[Line]:
    """Lines of paragraphs of at least `least` lines. Never more than these are held back."""
    waiting: list[Line] = []  # the first lines of a paragraph, as long as they are too few
    length, divided = 0, False
    for line in lines:
        if line[1] == "":
            for number, _ in waiting:
                lonely.add(number)
            waiting.clear()
            length, divided = 0, True
            continue
        length += 1
        waiting.append(line)
        if length >= least:
            yield from waiting
            waiting.clear()
    if not divided:
        yield from waiting
        return
    for number, _ in waiting:
        lonely.add(number)


def _lines(path: Path, key: str, longest: int) -> Iterator[Line]:
    """All lines. One that is too long is read in parts, so that a file without line ends does not fill the memory."""
    number, room = 0, 4 * longest + 2  # bytes: UTF-8 has at most 4 for a character, and a line end has 2
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
