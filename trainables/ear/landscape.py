"""EAR in a landscape: a run with other training data, trained and scored by EAR's own code."""

from dataclasses import replace
from typing import Any

import numpy as np

from seedwise.trainables.ear.examples import Examples, examples
from seedwise.trainables.ear.prepare import Reader
from seedwise.trainables.ear.trainable import Ear
from seedwise.trainables.landscape.jobs import BOTH, INITIAL, SOURCE
from seedwise.trainables.landscape.subjects import LandscapeInputs, Subject, epoch_rows
from seedwise.trainables.request import Request
from seedwise.trainables.streams import Streams


def subject(inputs: LandscapeInputs, on: str, target: str, params: dict, streams: Streams, device: Any) -> Subject:
    """Wrap a run of EAR or of one of its baselines. Target sentences have no synonyms and are used unchanged."""
    own, params = inputs.own, dict(params)
    pool = own.train
    if on not in (INITIAL, SOURCE):
        pool = inputs.labelled[target] if on != BOTH else joined_examples(own.train, inputs.labelled[target])
    size = len(own.train) if inputs.match == "updates" else len(pool)
    method = Ear.class_for(params)
    first = pool.take(epoch_rows(len(pool), size, 0, streams))  # sizes the schedule
    run = method(replace(own, train=first), params, streams, device)
    sets = {language: (own.dev[language], None) for language in (own.source, *inputs.targets)}
    return Subject(run, run.learner, own.encoder, pool, size, streams, run.train_on, sets, len(own.labels))


def labelled(request: Request) -> dict[str, Examples]:
    """The training sets of the targets."""
    reader, sets = Reader(request), {}
    for language in request.task.targets:
        target = examples(*reader.texts(language, "train"), reader.tokenizer, reader.max_length)
        sets[language] = replace(target, foreign=np.ones(len(target), dtype=bool))
    return sets


def joined_examples(source: Examples, target: Examples) -> Examples:
    """Join both sets; the target's examples remain foreign."""
    return replace(
        source,
        sentences=source.sentences + target.sentences,
        labels=np.concatenate([source.labels, target.labels]),
        lengths=np.concatenate([source.lengths, target.lengths]),
        foreign=np.concatenate([np.zeros(len(source), dtype=bool), target.foreign]),
    )
