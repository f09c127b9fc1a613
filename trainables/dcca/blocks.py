"""Unlabelled text as blocks of tokens: a fixed number of them, drawn at random, however long the file is."""

import zlib
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from seedwise.errors import RequestError
from seedwise.trainables.inputs.cache import cached, content_hash
from seedwise.trainables.inputs.files import checksum
from seedwise.trainables.static.corpus import Filters, sentences

VERSION = 1  # of the cached arrays; a new version reads every file again
CHUNK = 1000  # sentences that are tokenised together
HELD_OUT = 50  # one sentence in this many is never trained on: dev consists of these sentences
DEV_BLOCKS = 64  # most dev blocks of each language
NO_FILTERS = Filters(least_words=1, least_sentences=1, most_sentences=1 << 60, longest=1 << 20)
SEED = 0  # of the draw: the same blocks in every search


def read_blocks(path: Path, key: str, tokenizer: Any, *, length: int, limit: int) -> dict[str, np.ndarray]:
    """Blocks of `length` token ids of a text, special tokens included and padded on the right: `train` and `dev`.

    `train` has at most `limit` blocks, drawn at random; `dev` has held-out sentences. Sentences follow each other
    without a separator, as in pretraining. All copies of a sentence are in the same split. The blocks are cached by the
    contents of the file and of the tokenizer.
    """
    made_from = {
        "file": checksum(path),
        "tokenizer": tokenizer_hash(tokenizer),
        "length": length,
        "most": limit,
        "version": VERSION,
    }
    blocks = cached("blocks", made_from, lambda: _arrays(path, key, tokenizer, length, limit))
    for split, purpose in (("train", "to train on"), ("dev", f"held out (one sentence in {HELD_OUT})")):
        if not len(blocks[split]):
            raise RequestError(key, f"{path}: it has no sentences {purpose}", "Name a file with hundreds of sentences.")
    return blocks


def _arrays(path: Path, key: str, tokenizer: Any, length: int, limit: int) -> dict[str, np.ndarray]:
    train, dev = Reservoir(limit, length, tokenizer), Reservoir(DEV_BLOCKS, length, tokenizer)
    stream = sentences(path, key, NO_FILTERS)
    while chunk := list(islice(stream, CHUNK)):
        tokens = tokenizer(chunk, add_special_tokens=False, return_attention_mask=False, verbose=False)["input_ids"]
        for sentence, ids in zip(chunk, tokens, strict=True):
            (dev if held_out(sentence, HELD_OUT) else train).add(ids)
    return {"train": train.array(), "dev": dev.array()}


def tokenizer_hash(tokenizer: Any) -> str:
    """A hash of a tokenizer, without the settings for truncation and padding that it keeps from its last call."""
    backend = tokenizer.backend_tokenizer
    backend.no_truncation()
    backend.no_padding()
    return content_hash(backend.to_str())


def held_out(text: str, one_in: int) -> bool:
    """Whether a text is held out; this depends on its characters alone."""
    return zlib.crc32(text.encode()) % one_in == 0


class Reservoir:
    """Fills blocks with sentences and keeps `limit` of the full blocks, each with the same probability."""

    def __init__(self, limit: int, length: int, tokenizer: Any):
        self.limit, self.room, self.pad = limit, length - 2, tokenizer.pad_token_id
        self.first, self.last = tokenizer.cls_token_id, tokenizer.sep_token_id
        self.kept: list[np.ndarray] = []
        self.open: list[int] = []
        self.closed = 0
        self.draw = np.random.default_rng(SEED)

    def add(self, ids: Iterable[int]) -> None:
        self.open.extend(ids)
        while len(self.open) >= self.room:
            self._close(self.open[: self.room])
            del self.open[: self.room]

    def _close(self, ids: list[int]) -> None:
        self.closed += 1
        slot = len(self.kept) if len(self.kept) < self.limit else int(self.draw.integers(self.closed))
        if slot >= self.limit:
            return
        block = np.full(self.room + 2, self.pad, dtype=np.int32)
        block[: len(ids) + 2] = [self.first, *ids, self.last]
        self.kept[slot : slot + 1] = [block]

    def array(self) -> np.ndarray:
        """All kept blocks; a block that is not full is kept only if there is no other block."""
        if not self.kept and self.open:
            self._close(self.open)
        return np.stack(self.kept) if self.kept else np.empty((0, self.room + 2), dtype=np.int32)
