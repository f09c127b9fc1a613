"""Texts of a task as ids: pieces of the encoder for the source, rows of vectors for other languages."""

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from seedwise.errors import RequestError
from seedwise.trainables.inputs.files import locate
from seedwise.trainables.inputs.lexicons import read_lexicon, read_words
from seedwise.trainables.inputs.subwords import Subwords
from seedwise.trainables.inputs.text import Encoded, encode
from seedwise.trainables.inputs.vectors import read_vectors
from seedwise.trainables.inputs.words import Words, plain
from seedwise.trainables.request import Request
from seedwise.trainables.stitching.anchors import LexiconPairs, lexicon_pairs
from seedwise.trainables.tasks.sources import Classification
from seedwise.trainables.training.encoder import Encoder, check_encoder, load_encoder


@dataclass(frozen=True)
class WordSet:
    """A split of a target language. Its ids are rows of a table of the special tokens, followed by `vectors`."""

    vectors: np.ndarray
    data: Encoded
    unknown_share: float  # of the split's words


@dataclass(frozen=True)
class Target:
    """A target or pivot language: its vectors, the pairs that may be anchors, and its dev set.

    The first `used` rows of `vectors` are the words of the dev set; the rows after them serve only as anchors.
    """

    vectors: np.ndarray
    used: int
    mean: np.ndarray  # of the whole vector file
    lexicon: LexiconPairs
    dev: Encoded
    unknown_share: float  # of the dev set's words

    @property
    def dev_words(self) -> WordSet:
        return WordSet(self.vectors[: self.used], self.dev, self.unknown_share)


@dataclass(frozen=True)
class Multilingual:
    """A multilingual encoder with its training set and dev sets, for the zero-shot baseline."""

    encoder: Encoder
    train: Encoded
    dev: dict[str, Encoded]  # of the source and of every target


class Reader:
    """Reads what a specification names: the encoder, the task, and each language's vectors and lexicon."""

    def __init__(self, request: Request):
        self.inputs, self.source_language = request.inputs, request.task.source
        self.task = Classification(request.task)
        self.encoder, self.tokenizer = self._load_encoder("model", request.model)
        self.specials = ordered_specials(self.tokenizer)
        self.notes: list[str] = []
        self.language = cache(self._language)

    def _load_encoder(self, key: str, name: str) -> tuple[Encoder, Any]:
        encoder, tokenizer = load_encoder(name, key)
        check_encoder(key, name, encoder, tokenizer, self.inputs.max_length)
        return encoder, tokenizer

    def source(self, split: str) -> tuple[Encoded, float]:
        return self._pieces(self.source_language, split, self.tokenizer)

    def _pieces(self, language: str, split: str, tokenizer: Any) -> tuple[Encoded, float]:
        """A split, cut into pieces by an encoder's tokenizer, and the share of pieces that are unknown."""
        texts, classes = self.task.split(language, split)
        ids = tokenizer(texts, truncation=True, max_length=self.inputs.max_length)["input_ids"]
        unknown = sum(sentence.count(tokenizer.unk_token_id) for sentence in ids)
        added = tokenizer.num_special_tokens_to_add() * len(ids)
        return encode(ids, classes, pad=tokenizer.pad_token_id), unknown / (sum(map(len, ids)) - added)

    def multilingual(self, **languages: list[str]) -> tuple[Encoder, dict[str, dict[str, Encoded]]]:
        """The multilingual encoder, and `split=languages` in its pieces, by split and language."""
        encoder, tokenizer = self._load_encoder("inputs.multilingual", self.inputs.multilingual)
        sets = {
            split: {name: self._pieces(name, split, tokenizer)[0] for name in names}
            for split, names in languages.items()
        }
        return encoder, sets

    def target(self, language: str, *, asks_quality: bool) -> Target:
        """A language of the search. `asks_quality`: whether any configuration leaves out pairs of low quality."""
        known = self.language(language)
        used, dev, unknown_share = self._words(language, "dev")
        key = f"inputs.lexicons.{language}"
        lexicon = read_lexicon(locate(self.inputs.lexicons[language], key), key, quality=self.inputs.quality)
        self.notes += [f"{key}: {note}" for note in lexicon.notes]
        if (self.inputs.quality or asks_quality) and all(entry.quality is None for entry in lexicon.entries):
            self.notes.append(f"{key}: no pair has a quality, so no pair is left out by quality")
        entries = [entry._replace(target=plain(entry.target)) for entry in lexicon.entries]
        pairs = lexicon_pairs(entries, self._spell, known.rows.get, known.words.casings, self._stop_words(language))
        if not len(pairs):
            raise RequestError(
                key,
                f"no pair of {self.inputs.lexicons[language]} is in the encoder and has a target vector",
                "Use a larger lexicon, or one of this language pair.",
            )
        kept = list(dict.fromkeys([*used, *pairs.target[pairs.target >= 0].tolist()]))
        position = np.full(known.size, -1)
        position[kept] = np.arange(len(kept))
        pairs = replace(pairs, target=np.where(pairs.target >= 0, position[pairs.target], -1))
        return Target(known.take(kept), len(used), known.mean, pairs, dev, unknown_share)

    def word_set(self, language: str, split: str) -> WordSet:
        used, data, unknown_share = self._words(language, split)
        return WordSet(self.language(language).take(used), data, unknown_share)

    def _stop_words(self, language: str) -> frozenset[str]:
        if language not in self.inputs.stop_words:
            return frozenset()
        key = f"inputs.stop_words.{language}"
        return frozenset(map(plain, read_words(locate(self.inputs.stop_words[language], key), key)))

    def _spell(self, word: str) -> list[int]:
        """A source word's pieces within a sentence; [] if a piece is unknown to the encoder."""
        pieces = self.tokenizer(f" {word}", add_special_tokens=False)["input_ids"]  # RoBERTa's pieces hold the space
        return [] if self.tokenizer.unk_token_id in pieces else pieces

    def _language(self, language: str) -> "Language":
        read = Language(self.inputs, language)
        self.notes += read.notes
        return read

    def _words(self, language: str, split: str) -> tuple[list[int], Encoded, float]:
        """A split of a target language: the rows of vectors that occur, in the order of first use; its ids in a table
        of the special tokens and these rows; and the share of words without a row."""
        texts, classes = self.task.split(language, split)
        known = self.language(language)
        sentences = known.look_up(texts)
        flat = [row for sentence in sentences for row in sentence]
        used = list(dict.fromkeys(row for row in flat if row >= 0))
        if not used:
            raise RequestError(
                f"inputs.vectors.{language}",
                f"no word of the {split} set has a vector",
                f"Are these vectors of {language}?",
            )
        token = self.tokenizer
        begin, end, pad, unknown = (
            self.specials.index(special)
            for special in (token.cls_token_id, token.sep_token_id, token.pad_token_id, token.unk_token_id)
        )
        id_of = {row: number for number, row in enumerate(used, start=len(self.specials))} | {-1: unknown}
        longest = self.inputs.max_length - 2
        ids = [[begin, *(id_of[row] for row in sentence[:longest]), end] for sentence in sentences]
        missing = sum(not 0 <= row < len(known.table) for row in flat)  # vectors made of n-grams count as missing
        return used, encode(ids, classes, pad=pad), missing / len(flat)


class Language:
    """A target language's vectors and words. With `unknown: subword`, `look_up` adds a row for each unknown word."""

    def __init__(self, inputs: Any, language: str):
        key = f"inputs.vectors.{language}"
        vectors = read_vectors(locate(inputs.vectors[language], key), key, rows=inputs.vector_rows)
        self.table, self.mean = vectors.table, vectors.table.mean(0)
        self.notes = [f"{key}: {note}" for note in vectors.notes]
        self.rows: dict[str, int] = {}
        for row, word in enumerate(vectors.words):
            self.rows.setdefault(plain(word), row)
        splitting = inputs.splitting if isinstance(inputs.splitting, str) else inputs.splitting.get(language, "unicode")
        self.words = Words(vectors.words, language, splitting=splitting, casing=inputs.unknown != "unk")
        self.added: list[np.ndarray] = []
        self.subwords = None
        if inputs.unknown == "subword":
            key = f"inputs.subwords.{language}" if language in inputs.subwords else key
            self.subwords = Subwords(locate(inputs.subwords.get(language, inputs.vectors[language]), key), key)
            own, dimensions = self.subwords.dimensions, self.table.shape[1]
            if own != dimensions:
                problem = f"this model has {own} dimensions, the vectors of {language} have {dimensions}"
                raise RequestError(key, problem, "Name the model that the vectors are from.")

    @property
    def size(self) -> int:
        return len(self.table) + len(self.added)

    def look_up(self, texts: list[str]) -> list[list[int]]:
        """The row of each word of each text; -1 for words without a row."""
        if self.subwords is not None:
            for word in dict.fromkeys(word for words in self.words.split(texts) for word in words):
                if word not in self.words.spellings and (vector := self.subwords.vector(word)) is not None:
                    self.words.add(word, self.size)
                    self.added.append(vector)
        return self.words.rows(texts)

    def take(self, rows: list[int]) -> np.ndarray:
        """The vectors with these row numbers, the added vectors included."""
        chosen = np.array(rows)
        vectors = np.empty((len(chosen), self.table.shape[1]), dtype=np.float32)
        own = chosen < len(self.table)
        vectors[own] = self.table[chosen[own]]
        for position in np.flatnonzero(~own):
            vectors[position] = self.added[chosen[position] - len(self.table)]
        return vectors


def ordered_specials(tokenizer: Any) -> list[int]:
    """The special tokens of an encoder as the first rows of a stitched table, with padding at its own id if possible.

    RoBERTa counts positions from its padding id: with another id, an exported model would shift all positions.
    """
    pad = tokenizer.pad_token_id
    others = [special for special in tokenizer.all_special_ids if special != pad]
    return [*others[:pad], pad, *others[pad:]]
