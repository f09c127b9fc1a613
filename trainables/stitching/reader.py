"""Texts of a task as ids: pieces of the encoder for the source, rows of vectors for other languages."""

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from seedwise.errors import RequestError
from seedwise.trainables.inputs.lexicons import read_lexicon, read_words
from seedwise.trainables.inputs.paths import locate
from seedwise.trainables.inputs.subwords import Subwords
from seedwise.trainables.inputs.text import Encoded, encode
from seedwise.trainables.inputs.vectors import read_vectors
from seedwise.trainables.inputs.words import Words, plain
from seedwise.trainables.request import Request
from seedwise.trainables.stitching.anchors import Candidates, candidates
from seedwise.trainables.tasks.sources import Classification
from seedwise.trainables.training.encoder import Encoder, check_encoder, load_encoder


@dataclass(frozen=True)
class Target:
    """A target or pivot language: the vectors that matter, the pairs that may be anchors, and its dev set.

    The ids of a set are rows of the stitched table: first the special tokens, then the first `used` rows of `vectors`,
    the words that occur in the data. Rows after them are there as anchors only.
    """

    vectors: np.ndarray
    used: int
    mean: np.ndarray  # of the whole vector file
    candidates: Candidates
    dev: Encoded
    unknown_share: float  # of the dev set's words


@dataclass(frozen=True)
class WordSet:
    """A split of a target language by itself: its ids are rows of a table of the special tokens and all `vectors`."""

    vectors: np.ndarray
    data: Encoded
    unknown_share: float  # of its words


@dataclass(frozen=True)
class Multilingual:
    """A multilingual encoder and what it is fine-tuned and scored on, for the zero-shot baseline."""

    encoder: Encoder
    train: Encoded
    dev: dict[str, Encoded]  # of the source and of every target


class Reader:
    """Reads the splits of a task as ids: pieces of the encoder for the source, rows of vectors for other languages."""

    def __init__(self, request: Request):
        self.inputs, self.source_language = request.inputs, request.task.source
        self.task = Classification(request.task)
        self.encoder, self.tokenizer = load_encoder(request.model)
        check_encoder("model", request.model, self.encoder, self.tokenizer, self.inputs.max_length)
        self.specials = ordered_specials(self.tokenizer)
        self.notes: list[str] = []
        self.language = cache(self._language)

    def source(self, split: str) -> tuple[Encoded, float]:
        return self.pieces(self.source_language, split, self.tokenizer)

    def pieces(self, language: str, split: str, tokenizer: Any) -> tuple[Encoded, float]:
        """A split in pieces of an encoder, and the share of them that it does not know."""
        texts, classes = self.task.split(language, split)
        ids = tokenizer(texts, truncation=True, max_length=self.inputs.max_length)["input_ids"]
        unknown = sum(sentence.count(tokenizer.unk_token_id) for sentence in ids)
        added = tokenizer.num_special_tokens_to_add() * len(ids)
        return encode(ids, classes, pad=tokenizer.pad_token_id), unknown / (sum(map(len, ids)) - added)

    def load_multilingual(self) -> tuple[Encoder, Any]:
        key, name = "inputs.multilingual", self.inputs.multilingual
        encoder, tokenizer = load_encoder(name, key)
        check_encoder(key, name, encoder, tokenizer, self.inputs.max_length)
        return encoder, tokenizer

    def multilingual(self, languages: list[str]) -> Multilingual:
        encoder, tokenizer = self.load_multilingual()
        dev = {language: self.pieces(language, "dev", tokenizer)[0] for language in [self.source_language, *languages]}
        return Multilingual(encoder, self.pieces(self.source_language, "train", tokenizer)[0], dev)

    def target(self, language: str, *, asks_quality: bool) -> Target:
        """A language of the search. `asks_quality`: whether it tries to leave out pairs of low quality."""
        known = self.language(language)
        used, dev, unknown_share = self.words(language, "dev")
        key = f"inputs.lexicons.{language}"
        lexicon = read_lexicon(locate(self.inputs.lexicons[language], key), key, quality=self.inputs.quality)
        self.notes += [f"{key}: {note}" for note in lexicon.notes]
        if (self.inputs.quality or asks_quality) and all(entry.quality is None for entry in lexicon.entries):
            self.notes.append(f"{key}: no pair has a quality, so none is left out for it")
        stop_words = frozenset()
        if language in self.inputs.stop_words:
            where = f"inputs.stop_words.{language}"
            words = read_words(locate(self.inputs.stop_words[language], where), where)
            stop_words = frozenset(map(plain, words))
        entries = [entry._replace(target=plain(entry.target)) for entry in lexicon.entries]
        pairs = candidates(entries, self.spell, known.rows.get, known.words.casings, stop_words)
        if not len(pairs):
            raise RequestError(
                key,
                f"no pair of {self.inputs.lexicons[language]} is in the encoder and has a target vector",
                "Use a larger lexicon, or one of this language pair.",
            )
        kept = list(dict.fromkeys([*used, *(int(row) for row in pairs.target.ravel() if row >= 0)]))
        place = np.full(known.size, -1)
        place[kept] = np.arange(len(kept))
        pairs = replace(pairs, target=np.where(pairs.target >= 0, place[pairs.target], -1))
        return Target(known.take(kept), len(used), known.mean, pairs, dev, unknown_share)

    def word_set(self, language: str, split: str) -> WordSet:
        used, data, unknown_share = self.words(language, split)
        return WordSet(self.language(language).take(used), data, unknown_share)

    def spell(self, word: str) -> list[int]:
        """A source word's pieces as they are within a sentence; none where one of them is unknown to the encoder."""
        pieces = self.tokenizer(f" {word}", add_special_tokens=False)["input_ids"]  # RoBERTa's pieces hold that space
        return [] if self.tokenizer.unk_token_id in pieces else pieces

    def _language(self, language: str) -> "Language":
        found = Language(self.inputs, language)
        self.notes += found.notes
        return found

    def words(self, language: str, split: str) -> tuple[list[int], Encoded, float]:
        """The rows in use, in the order of first use; the split in ids of a table of the special tokens and these rows;
        and the share of words without a row."""
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
        begin, end, pad, missing = (
            self.specials.index(special)
            for special in (token.cls_token_id, token.sep_token_id, token.pad_token_id, token.unk_token_id)
        )
        place = {row: index for index, row in enumerate(used, start=len(self.specials))} | {-1: missing}
        longest = self.inputs.max_length - 2
        ids = [[begin, *(place[row] for row in sentence[:longest]), end] for sentence in sentences]
        unknown = sum(not 0 <= row < len(known.table) for row in flat)  # words made of n-grams have no vector either
        return used, encode(ids, classes, pad=pad), unknown / len(flat)


class Language:
    """A target language's vectors and words. With `unknown: subword`, unknown words get rows as they come."""

    def __init__(self, inputs: dict, language: str):
        key = f"inputs.vectors.{language}"
        path = locate(inputs.vectors[language], key)
        vectors = read_vectors(path, key, rows=inputs.vector_rows)
        self.table, self.mean = vectors.table, vectors.table.mean(0)
        self.notes = [f"{key}: {note}" for note in vectors.notes]
        self.rows: dict[str, int] = {}
        for row, word in enumerate(vectors.words):
            self.rows.setdefault(plain(word), row)
        splitting = inputs.splitting
        self.words = Words(
            vectors.words,
            language,
            splitting=splitting if isinstance(splitting, str) else splitting.get(language, "unicode"),
            casing=inputs.unknown != "unk",
        )
        self.added: list[np.ndarray] = []
        self.subwords = None
        if inputs.unknown == "subword":
            key = f"inputs.subwords.{language}" if language in inputs.subwords else key
            self.subwords = Subwords(locate(inputs.subwords.get(language, inputs.vectors[language]), key), key)
            if self.subwords.dimensions != self.table.shape[1]:
                raise RequestError(
                    key,
                    f"this model has {self.subwords.dimensions} dimensions, the vectors of {language} have "
                    f"{self.table.shape[1]}",
                    "Name the model that the vectors are from.",
                )

    @property
    def size(self) -> int:
        return len(self.table) + len(self.added)

    def look_up(self, texts: list[str]) -> list[list[int]]:
        """The rows of all words; -1 where there is none."""
        if self.subwords is not None:
            unknown = dict.fromkeys(word for words in self.words.split(texts) for word in words)
            for word in (word for word in unknown if word not in self.words.spellings):
                vector = self.subwords.vector(word)
                if vector is not None:
                    self.words.add(word, self.size)
                    self.added.append(vector)
        return self.words.rows(texts)

    def take(self, rows: list[int]) -> np.ndarray:
        """The vectors of these rows."""
        chosen = np.array(rows)
        result = np.empty((len(chosen), self.table.shape[1]), dtype=np.float32)
        own = chosen < len(self.table)
        result[own] = self.table[chosen[own]]
        for place in np.flatnonzero(~own):
            result[place] = self.added[chosen[place] - len(self.table)]
        return result


def ordered_specials(tokenizer: Any) -> list[int]:
    """The special tokens of an encoder as the first rows of a stitched table, padding at its own id where that is one.

    RoBERTa counts positions from the id of its padding: at another id an exported model would read all of them shifted.
    """
    pad = tokenizer.pad_token_id
    others = [special for special in tokenizer.all_special_ids if special != pad]
    return [*others[:pad], pad, *others[pad:]]
