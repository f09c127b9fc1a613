"""What a stitching search reads, once, on the driver: arrays that travel to the workers.

`prepare` never opens a test set; `prepare_test` opens those of the source and the targets, for the confirmation alone.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from search.errors import RequestError
from trainables.encoder import Encoder, load_encoder
from trainables.inputs.lexicons import read_lexicon
from trainables.inputs.paths import locate
from trainables.inputs.text import Encoded, encode, find_word, split_words
from trainables.inputs.vectors import read_vectors
from trainables.tasks.classification import read_labels, read_split


@dataclass(frozen=True)
class Target:
    """A target or pivot language: the vectors that matter, the anchors, and its dev set in ids of the stitched table.

    The stitched table starts with the special tokens, then come the first `used` rows of `vectors`: the words that
    occur in the data. Rows after them are there as anchors only.
    """

    vectors: np.ndarray
    used: int
    mean: np.ndarray  # of the whole vector file
    pairs: np.ndarray  # anchors: source piece, row of `vectors`
    dev: Encoded
    unknown_share: float  # of the dev set's words


@dataclass(frozen=True)
class StitchingInputs:
    source: str
    labels: list[str]
    encoder: Encoder
    specials: np.ndarray  # ids of the special tokens in the source table
    train: Encoded
    dev: Encoded
    targets: dict[str, Target]  # pivots too: they are trained and scored alike


@dataclass(frozen=True)
class TargetTest:
    """The test set of a target language, in ids of a table of its own: the special tokens, then all of `vectors`."""

    vectors: np.ndarray
    data: Encoded
    unknown_share: float  # of the test set's words


@dataclass(frozen=True)
class StitchingTests:
    source: Encoded
    targets: dict[str, TargetTest]  # no pivots: their labels serve the search, so a test would confirm nothing


def prepare(specification: dict) -> StitchingInputs:
    """Read the encoder, the task, the vectors and the lexica that a specification names."""
    task, reader = specification["task"], Reader(specification)
    return StitchingInputs(
        source=task["source"],
        labels=reader.labels,
        encoder=reader.encoder,
        specials=np.array(reader.specials),
        train=reader.source("train"),
        dev=reader.source("dev"),
        targets={language: reader.target(language) for language in [*task["targets"], *(task.get("pivots") or [])]},
    )


def prepare_test(specification: dict) -> StitchingTests:
    """Read the test sets of the source and the targets, and the vectors of the words that occur in them."""
    task, reader = specification["task"], Reader(specification)
    return StitchingTests(reader.source("test"), {language: reader.test(language) for language in task["targets"]})


class Reader:
    """Reads the splits of a task as ids: pieces of the encoder for the source, rows of vectors for other languages."""

    def __init__(self, specification: dict):
        self.task, self.inputs = specification["task"], specification["inputs"]
        self.folder = locate(self.task["data"], "task.data", folder=True)
        self.encoder, self.tokenizer = load_encoder(specification["model"])
        self.specials = self.tokenizer.all_special_ids
        self.labels = read_labels(self.folder, self.task["source"])

    def source(self, split: str) -> Encoded:
        texts, classes = read_split(self.folder, self.task["source"], split, self.labels)
        ids = self.tokenizer(texts, truncation=True, max_length=self.inputs["max_length"])["input_ids"]
        return encode(ids, classes, pad=self.tokenizer.pad_token_id)

    def target(self, language: str) -> Target:
        rows, vectors = self.vectors(language)
        used, dev, unknown_share = self.words(language, "dev", rows)
        key = f"inputs.lexicons.{language}"
        anchors = _anchors(read_lexicon(locate(self.inputs["lexicons"][language], key), key), self.tokenizer, rows)
        if not anchors:
            raise RequestError(
                f"{key}: no pair is one piece of the encoder and has a target vector. Use a larger lexicon."
            )
        kept = list(dict.fromkeys([*used, *(row for _, row in anchors)]))
        place = {row: index for index, row in enumerate(kept)}
        pairs = np.array([(piece, place[row]) for piece, row in anchors])
        return Target(vectors[kept], len(used), vectors.mean(0), pairs, dev, unknown_share)

    def test(self, language: str) -> TargetTest:
        rows, vectors = self.vectors(language)
        used, data, unknown_share = self.words(language, "test", rows)
        return TargetTest(vectors[used], data, unknown_share)

    def vectors(self, language: str) -> tuple[dict[str, int], np.ndarray]:
        """The row of every word, and the rows."""
        key = f"inputs.vectors.{language}"
        path = locate(self.inputs["vectors"][language], key)
        words, vectors = read_vectors(path, key, rows=self.inputs["vector_rows"])
        return {word: row for row, word in enumerate(words)}, vectors

    def words(self, language: str, split: str, rows: dict[str, int]) -> tuple[list[int], Encoded, float]:
        """The rows in use, in the order of first use; the split in ids of a table of the special tokens and these rows;
        and the share of words without a row."""
        if read_labels(self.folder, language) != self.labels:
            raise RequestError(f"task.data: the labels.txt of {language} differs from the source's. Make them equal.")
        texts, classes = read_split(self.folder, language, split, self.labels)
        unknown, longest = self.inputs["unknown"], self.inputs["max_length"] - 2
        sentences = [[find_word(word, rows, unknown=unknown) for word in split_words(text)] for text in texts]
        flat = [row for sentence in sentences for row in sentence]
        used = list(dict.fromkeys(row for row in flat if row is not None))
        if not used:
            raise RequestError(
                f"inputs.vectors.{language}: no word of the {split} set has a vector. Are these vectors of {language}?"
            )
        token = self.tokenizer
        begin, end, pad, missing = (
            self.specials.index(special)
            for special in (token.cls_token_id, token.sep_token_id, token.pad_token_id, token.unk_token_id)
        )
        place = {row: index for index, row in enumerate(used, start=len(self.specials))} | {None: missing}
        ids = [[begin, *(place[row] for row in sentence[:longest]), end] for sentence in sentences]
        return used, encode(ids, classes, pad=pad), flat.count(None) / len(flat)


def _anchors(lexicon: list[tuple[str, str]], tokenizer: Any, rows: dict[str, int]) -> list[tuple[int, int]]:
    """Pairs that exist on both sides: the source word is one piece of the encoder, the target word has a vector.

    Of a target word with several translations the first is kept, as the paper does.
    """
    singles = tokenizer([source for source, _ in lexicon], add_special_tokens=False)["input_ids"]
    found: dict[int, int] = {}
    for (_, target), pieces in zip(lexicon, singles, strict=True):
        row = rows.get(target)
        if row is not None and len(pieces) == 1 and pieces[0] != tokenizer.unk_token_id:
            found.setdefault(row, pieces[0])
    return [(piece, row) for row, piece in found.items()]
