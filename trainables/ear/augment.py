"""Copies of sentences in which words are replaced by synonyms.

A sentence is a list of words between white space. A copy has as many: a synonym of two words still is one of them, so
that the words of a sentence and of its copy stay aligned.
"""

import math
from random import Random
from unicodedata import category  # M are marks: vowel signs of Hindi or Thai are part of a word

from seedwise.trainables.inputs.pieces import Sentences


class Dictionary:
    """The part of a dictionary that a run uses, and how words are looked up in it.

    `scale` is the share of all its words, those without synonyms included, as the paper counts them. The part is drawn
    by `seed`; smaller ones are parts of larger ones. `exact` looks words up as they stand. Otherwise signs around a
    word are kept apart, and a word that is only there in lower case is found, its synonym then written as the word was.
    """

    def __init__(self, words: dict[str, tuple[str, ...]], *, scale: float, seed: int, exact: bool):
        kept = list(words)
        if scale < 1:
            Random(seed).shuffle(kept)
            kept = kept[: math.floor(scale * len(kept))]
        self.words = {word: words[word] for word in kept if words[word]}
        self.exact = exact

    def known(self, token: str) -> tuple[str, ...]:
        """The tokens that may stand in the place of this one; none where the dictionary does not have it."""
        if self.exact:
            return self.words.get(token, ())
        before, word, after = bare(token)
        synonyms = self.words.get(word) or self.words.get(word.lower(), ())
        return tuple(before + as_written(word, synonym) + after for synonym in synonyms)

    def replaced(self, token: str, draw: Random) -> str:
        """A token, or one in its place: each of the synonyms and the word itself are as likely."""
        synonyms = self.known(token)
        return draw.choice((token, *synonyms)) if synonyms else token

    def copy(self, sentences: Sentences, draw: Random) -> tuple[Sentences, int]:
        """A copy of an example, and how many of its words are others than before."""
        copied = tuple([self.replaced(token, draw) for token in sentence] for sentence in sentences)
        changed = sum(
            new != old
            for one, other in zip(copied, sentences, strict=True)
            for new, old in zip(one, other, strict=True)
        )
        return copied, changed


def bare(token: str) -> tuple[str, str, str]:
    """The signs before a word, the word, and the signs after it; no word where there are only signs."""
    inside = [index for index, letter in enumerate(token) if letter.isalnum() or category(letter)[0] == "M"]
    if not inside:
        return token, "", ""
    first, last = inside[0], inside[-1] + 1
    return token[:first], token[first:last], token[last:]


def as_written(word: str, synonym: str) -> str:
    """A synonym with the capitals of the word it stands for: none, the first, or all of more than one."""
    if len(word) > 1 and word.isupper():
        return synonym.upper()
    return synonym[:1].upper() + synonym[1:] if word[:1].isupper() else synonym
