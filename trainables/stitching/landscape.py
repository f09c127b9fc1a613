"""Stitching as a landscape needs it: one pair, on other training data. Its own code trains and scores."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from seedwise.trainables.inputs.text import Encoded
from seedwise.trainables.landscape.data import rows_of
from seedwise.trainables.landscape.jobs import BOTH, INITIAL, SOURCE
from seedwise.trainables.landscape.subjects import LandscapeInputs, Subject
from seedwise.trainables.request import Request
from seedwise.trainables.stitching.prepare import StitchingInputs
from seedwise.trainables.stitching.reader import Reader, WordSet
from seedwise.trainables.stitching.trainable import Stitching
from seedwise.trainables.streams import Streams


def subject(inputs: LandscapeInputs, on: str, target: str, params: dict, streams: Streams, device: Any) -> Subject:
    """One pair of stitching. Its word table is frozen, as one language reads rows of F^s and the other of F^t: all the
    models differ in the body and the head alone. Where anchors are drawn, all replicates have those of replicate 0: on
    the way from one seed to another there is one table, so that both ends read their own.
    """
    own: StitchingInputs = replace(inputs.own, targets={target: inputs.own.targets[target]})
    pool, source = own.train, on in (INITIAL, SOURCE)
    if not source:
        words = shifted(inputs.labelled[target].data, own)
        pool = words if on != BOTH else joined_ids(own.train, words)
    size = len(own.train) if inputs.match == "updates" else len(pool)
    own = replace(own, train=pool.take(rows_of(len(pool), size, 0, streams)))
    run = Stitching(own, params, replace(streams, fixed=("anchors",)), device)
    pair = run.pairs[target]
    sets = {own.source: (own.dev, None), target: (pair.target.dev, pair.table(pair.words))}

    @cache
    def lookup() -> Tensor | None:  # points need none
        if source:
            return None
        rows = pair.tables.target(inputs.labelled[target].vectors)[0]
        return torch.cat([pair.tables.source, rows]).to(pair.learner.device)

    def train_on(train: Encoded) -> None:
        pair.train_on(train, lookup())

    return Subject(run, pair.learner, own.encoder, pool, size, streams, train_on, sets, len(own.labels))


def labelled(request: Request) -> dict[str, WordSet]:
    """The training sets of the targets."""
    reader = Reader(request)
    return {language: reader.word_set(language, "train") for language in request.task.targets}


def shifted(words: Encoded, own: StitchingInputs) -> Encoded:
    """A target's ids as rows of F^s, where the special tokens are, with the target's words after all of it."""
    specials, vocabulary = own.specials.astype(np.int32), own.encoder.config["vocab_size"]
    place = np.minimum(words.ids, len(specials) - 1)
    ids = np.where(words.ids < len(specials), specials[place], words.ids - len(specials) + vocabulary)
    return replace(words, ids=ids.astype(np.int32))


def joined_ids(source: Encoded, target: Encoded) -> Encoded:
    """One set after the other; what is beyond a sentence's length is never read."""
    ids = np.zeros((len(source) + len(target), max(source.ids.shape[1], target.ids.shape[1])), dtype=np.int32)
    ids[: len(source), : source.ids.shape[1]] = source.ids
    ids[len(source) :, : target.ids.shape[1]] = target.ids
    parts = (np.concatenate([getattr(one, name) for one in (source, target)]) for name in ("lengths", "labels"))
    return Encoded(ids, *parts)
