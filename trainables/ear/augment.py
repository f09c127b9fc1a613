"""Makes copies of sentences in which words are replaced by synonyms.

A sentence is a list of words between white space. A synonym of two words counts as one, so that the words of a sentence
and of its copy stay aligned.
"""

import math
from itertools import chain
from random import Random
from unicodedata import category  # M are marks: vowel signs of Hindi or Thai are part of a word

from seedwise.trainables.inputs.pieces import Sentences


class Dictionary:
    """The part of a dictionary of synonyms that a run uses.

    `scale` is the share of all words, words without synonyms included, as the paper counts words. `seed` draws the
    part; larger parts contain smaller parts. `exact` looks words up unchanged. Otherwise punctuation around a word is
    split off, lower case is tried as well, and a synonym takes the word's capitals.
    """

    def __init__(self, words: dict[str, tuple[str, ...]], *, scale: float, seed: int, exact: bool):
        kept = list(words)
        if scale < 1:
            Random(seed).shuffle(kept)
            kept = kept[: math.floor(scale * len(kept))]
        self.words = {word: words[word] for word in kept if words[word]}
        self.exact = exact

    def synonyms_of(self, token: str) -> tuple[str, ...]:
        """The tokens that may replace this token; none if the dictionary lacks the token."""
        if self.exact:
            return self.words.get(token, ())
        before, word, after = bare(token)
        synonyms = self.words.get(word) or self.words.get(word.lower(), ())
        return tuple(before + as_written(word, synonym) + after for synonym in synonyms)

    def replaced(self, token: str, draw: Random) -> str:
        """The token or a synonym of it, all equally likely."""
        synonyms = self.synonyms_of(token)
        return draw.choice((token, *synonyms)) if synonyms else token

    def copy(self, sentences: Sentences, draw: Random) -> tuple[Sentences, int]:
        """A copy of an example, and how many of its words changed."""
        copy = tuple([self.replaced(token, draw) for token in sentence] for sentence in sentences)
        return copy, sum(new != old for new, old in zip(chain(*copy), chain(*sentences), strict=True))


def bare(token: str) -> tuple[str, str, str]:
    """The punctuation before a word, the word, and the punctuation after it; the word may be empty."""
    inside = [index for index, sign in enumerate(token) if sign.isalnum() or category(sign)[0] == "M"]
    if not inside:
        return token, "", ""
    first, last = inside[0], inside[-1] + 1
    return token[:first], token[first:last], token[last:]


def as_written(word: str, synonym: str) -> str:
    """A synonym with the capitals of the word that it replaces: none, the first letter, or all of several letters."""
    if len(word) > 1 and word.isupper():
        return synonym.upper()
    return synonym[:1].upper() + synonym[1:] if word[:1].isupper() else synonym
