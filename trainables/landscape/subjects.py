"""The methods whose landscapes can be seen, each as what a landscape needs of it: other training data, one model, and
its dev sets. The method's own code trains and scores; nothing of it is written again here."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from seedwise.trainables.ear.examples import Examples, examples
from seedwise.trainables.ear.prepare import Reader as EarReader
from seedwise.trainables.ear.trainable import Ear
from seedwise.trainables.inputs.text import Encoded
from seedwise.trainables.landscape.data import rows_of
from seedwise.trainables.landscape.jobs import BOTH, INITIAL, SOURCE
from seedwise.trainables.landscape.mixing import Parameters
from seedwise.trainables.method import Method
from seedwise.trainables.stitching.prepare import StitchingInputs
from seedwise.trainables.stitching.reader import Reader as StitchingReader
from seedwise.trainables.stitching.reader import WordSet
from seedwise.trainables.stitching.trainable import Stitching
from seedwise.trainables.streams import Streams
from seedwise.trainables.tasks.classification import accuracy, macro_f1
from seedwise.trainables.training.encoder import Encoder
from seedwise.trainables.training.learner import Learner


@dataclass(frozen=True)
class LandscapeInputs:
    """What the method itself reads, and the training sets of the targets: nobody but a landscape sees these."""

    method: str
    own: Any
    targets: list[str]
    labelled: dict[str, Examples | WordSet]  # by target; empty where the landscape does without
    equal: str  # updates, or epochs

    @property
    def notes(self) -> tuple[str, ...]:
        return self.own.notes


class DevSet:
    """A dev set whose batches stay on the device, to be scored at many points."""

    def __init__(self, learner: Learner, data: Encoded, table: Tensor | None, classes: int):
        self.learner, self.truth, self.classes = learner, data.labels, classes
        self.batches = [(rows, batch.pop("labels"), batch) for rows, batch in learner.batches(data, table=table)]

    def scores(self) -> dict[str, float]:
        """Of the model as it is now: the metrics of classification, and the mean cross entropy as `loss`."""
        predicted, loss = np.empty(len(self.truth), dtype=np.int64), 0.0
        for rows, labels, batch in self.batches:
            logits = self.learner.logits(batch).float()
            predicted[rows] = logits.argmax(-1).cpu().numpy()
            loss += cross_entropy(logits, labels, reduction="sum").item()
        f1 = macro_f1(self.truth, predicted, self.classes)
        return {"macro_f1": f1, "accuracy": accuracy(self.truth, predicted), "loss": loss / len(self.truth)}


@dataclass
class Subject:
    """A run of a method on other training data, with the one model that it trains."""

    run: Method
    learner: Learner
    encoder: Encoder  # that the model began as
    pool: Examples | Encoded  # all that it is trained on
    size: int  # examples of an epoch
    streams: Streams
    train_on: Callable[[Any], None]  # take these examples for the epochs to come
    sets: dict[str, tuple[Encoded, Tensor | None]]  # dev sets by language, and the tables that their ids are rows of
    classes: int

    def epoch(self, number: int) -> dict[str, float]:
        """Train for an epoch; the method's own metrics."""
        self.train_on(self.pool.take(rows_of(len(self.pool), self.size, number, self.streams)))
        return self.run.epoch(number)

    def begin_as(self, named: dict[str, np.ndarray]) -> None:
        """Give the model the parameters of a stored one."""
        with torch.no_grad():
            for name, value in self.learner.model.state_dict(keep_vars=True).items():
                if name in named:
                    value.copy_(torch.from_numpy(np.array(named[name])))

    @cached_property
    def parameters(self) -> Parameters:
        """The model's parameters as one vector. After training only, as they move to other places in memory."""
        model = self.learner.model
        known = {f"{model.base_model_prefix}.{name}" for name in self.encoder.weights}
        return Parameters(model, {name for name, _ in model.named_parameters() if name not in known})

    @cached_property
    def dev(self) -> dict[str, DevSet]:
        return {language: DevSet(self.learner, *one, self.classes) for language, one in self.sets.items()}

    def scores(self) -> dict[str, float]:
        """Of the model as it is now, on all dev sets."""
        return {f"dev/{name}/{key}": value for key, one in self.dev.items() for name, value in one.scores().items()}


def of_ear(inputs: LandscapeInputs, on: str, target: str, params: dict, streams: Streams, device: Any) -> Subject:
    """EAR, or one of its baselines. There are no synonyms of a target: its sentences are trained on as they are."""
    own, params = inputs.own, dict(params)
    pool = own.train
    if on not in (INITIAL, SOURCE):
        pool = inputs.labelled[target] if on != BOTH else joined_examples(own.train, inputs.labelled[target])
    size = len(own.train) if inputs.equal == "updates" else len(pool)
    method = Ear.class_for(params)
    first = pool.take(rows_of(len(pool), size, 0, streams))  # as many as the schedule is for
    run = method(replace(own, train=first), params, streams, device)
    sets = {language: (own.dev[language], None) for language in (own.source, *inputs.targets)}
    return Subject(run, run.learner, own.encoder, pool, size, streams, run.train_on, sets, len(own.labels))


def of_stitching(inputs: LandscapeInputs, on: str, target: str, params: dict, streams: Streams, device: Any) -> Subject:
    """One pair of stitching. Its word table is frozen, as one language reads rows of F^s and the other of F^t: all the
    models differ in the body and the head alone. Where anchors are drawn, all replicates have those of replicate 0: on
    the way from one seed to another there is one table, so that both ends read their own.
    """
    own: StitchingInputs = replace(inputs.own, targets={target: inputs.own.targets[target]})
    pool, source = own.train, on in (INITIAL, SOURCE)
    if not source:
        words = shifted(inputs.labelled[target].data, own)
        pool = words if on != BOTH else joined_ids(own.train, words)
    size = len(own.train) if inputs.equal == "updates" else len(pool)
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


METHODS = {"ear": Ear, "stitching": Stitching}
SUBJECTS = {"ear": of_ear, "stitching": of_stitching}


def read_labelled(specification: dict) -> dict[str, Examples | WordSet]:
    """The training sets of the targets."""
    targets = specification["task"]["targets"]
    if specification["method"] == "stitching":
        words = StitchingReader(specification)
        return {language: words.word_set(language, "train") for language in targets}
    reader, found = EarReader(specification), {}
    for language in targets:
        one = examples(*reader.texts(language, "train"), reader.tokenizer, reader.longest)
        found[language] = replace(one, foreign=np.ones(len(one), dtype=bool))
    return found


def joined_examples(source: Examples, target: Examples) -> Examples:
    """One set after the other; the target's stay foreign to the synonyms."""
    return replace(
        source,
        sentences=source.sentences + target.sentences,
        labels=np.concatenate([source.labels, target.labels]),
        lengths=np.concatenate([source.lengths, target.lengths]),
        foreign=np.concatenate([np.zeros(len(source), dtype=bool), target.foreign]),
    )


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
