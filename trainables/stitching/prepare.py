"""What a stitching search reads, once, on the driver: arrays that travel to the workers. Never the test sets."""

from dataclasses import dataclass
from pathlib import Path
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
    """A target language: the vectors that matter, the anchors, and its dev set in ids of the stitched table.

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
    targets: dict[str, Target]


def prepare(specification: dict) -> StitchingInputs:
    """Read the encoder, the task, the vectors and the lexica that a specification names."""
    task, inputs = specification["task"], specification["inputs"]
    folder = locate(task["data"], "task.data", folder=True)
    encoder, tokenizer = load_encoder(specification["model"])
    labels = read_labels(folder, task["source"])

    def source_split(split: str) -> Encoded:
        texts, classes = read_split(folder, task["source"], split, labels)
        ids = tokenizer(texts, truncation=True, max_length=inputs["max_length"])["input_ids"]
        return encode(ids, classes, pad=tokenizer.pad_token_id)

    targets = {language: _target(language, folder, tokenizer, labels, inputs) for language in task["targets"]}
    specials = np.array(tokenizer.all_special_ids)
    return StitchingInputs(
        task["source"], labels, encoder, specials, source_split("train"), source_split("dev"), targets
    )


def _target(language: str, folder: Path, tokenizer: Any, labels: list[str], inputs: dict) -> Target:
    if read_labels(folder, language) != labels:
        raise RequestError(f"task.targets: the labels.txt of {language} differs from the source's. Make them equal.")
    key = f"inputs.vectors.{language}"
    words, vectors = read_vectors(locate(inputs["vectors"][language], key), key, rows=inputs["vector_rows"])
    texts, classes = read_split(folder, language, "dev", labels)
    rows = {word: row for row, word in enumerate(words)}
    sentences = [[find_word(word, rows, unknown=inputs["unknown"]) for word in split_words(text)] for text in texts]
    flat = [row for sentence in sentences for row in sentence]
    if not any(row is not None for row in flat):
        raise RequestError(f"{key}: no word of the dev set has a vector. Are these vectors of {language}?")
    used = dict.fromkeys(row for row in flat if row is not None)
    key = f"inputs.lexicons.{language}"
    anchors = _anchors(read_lexicon(locate(inputs["lexicons"][language], key), key), tokenizer, rows)
    if not anchors:
        raise RequestError(f"{key}: no pair is one piece of the encoder and has a target vector. Use a larger lexicon.")
    kept = list(dict.fromkeys([*used, *(row for _, row in anchors)]))
    place = {row: index for index, row in enumerate(kept)}

    offset, unknown = len(tokenizer.all_special_ids), tokenizer.all_special_ids.index(tokenizer.unk_token_id)
    begin, end, pad = (
        tokenizer.all_special_ids.index(token)
        for token in (tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.pad_token_id)
    )
    ids = [
        [begin, *(unknown if row is None else offset + place[row] for row in sentence[: inputs["max_length"] - 2]), end]
        for sentence in sentences
    ]
    return Target(
        vectors=vectors[kept],
        used=len(used),
        mean=vectors.mean(0),
        pairs=np.array([(piece, place[row]) for piece, row in anchors]),
        dev=encode(ids, classes, pad=pad),
        unknown_share=flat.count(None) / len(flat),
    )


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
