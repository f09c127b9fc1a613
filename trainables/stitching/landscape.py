"""Stitching in a landscape: a language pair with other training data, trained and scored by stitching's own code."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from seedwise.trainables.inputs.text import Encoded
from seedwise.trainables.landscape.jobs import BOTH, INITIAL, SOURCE
from seedwise.trainables.landscape.subjects import LandscapeInputs, Subject, epoch_rows
from seedwise.trainables.request import Request
from seedwise.trainables.stitching.prepare import StitchingInputs
from seedwise.trainables.stitching.reader import Reader, WordSet
from seedwise.trainables.stitching.trainable import Stitching
from seedwise.trainables.streams import Streams


def subject(inputs: LandscapeInputs, on: str, target: str, params: dict, streams: Streams, device: Any) -> Subject:
    """Wrap a stitching run with a single pair. Its word table is frozen, since the source reads rows of F^s and the
    target rows of F^t: models differ only in the body and the head. If anchors are drawn, all replicates use the
    anchors of replicate 0: all points between two seeds have a single table, which both ends must share.
    """
    own: StitchingInputs = replace(inputs.own, targets={target: inputs.own.targets[target]})
    pool, source = own.train, on in (INITIAL, SOURCE)
    if not source:
        words = shifted(inputs.labelled[target].data, own)
        pool = words if on != BOTH else joined_ids(own.train, words)
    size = len(own.train) if inputs.match == "updates" else len(pool)
    own = replace(own, train=pool.take(epoch_rows(len(pool), size, 0, streams)))
    run = Stitching(own, params, replace(streams, fixed=("anchors",)), device)
    pair = run.pairs[target]
    sets = {own.source: (own.dev, None), target: (pair.target.dev, pair.table(pair.words))}

    @cache
    def lookup() -> Tensor | None:  # lazy, because points need none
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
    """A target's ids as rows of F^s, which has the special tokens, followed by the target's words."""
    specials, vocabulary = own.specials.astype(np.int32), own.encoder.config["vocab_size"]
    special = specials[np.minimum(words.ids, len(specials) - 1)]
    ids = np.where(words.ids < len(specials), special, words.ids - len(specials) + vocabulary)
    return replace(words, ids=ids.astype(np.int32))


def joined_ids(source: Encoded, target: Encoded) -> Encoded:
    """Join both sets, the source first; ids beyond a sentence's length are never read."""
    width = max(source.ids.shape[1], target.ids.shape[1])
    ids = [np.pad(each.ids, ((0, 0), (0, width - each.ids.shape[1]))) for each in (source, target)]
    lengths, labels = ([getattr(each, name) for each in (source, target)] for name in ("lengths", "labels"))
    return Encoded(*map(np.concatenate, (ids, lengths, labels)))
