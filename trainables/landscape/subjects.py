"""Wraps a method's run for landscapes: other training data, one model, its dev sets. The method's own code trains."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from seedwise.trainables.inputs.text import Encoded
from seedwise.trainables.landscape.mixing import Parameters
from seedwise.trainables.method import Method
from seedwise.trainables.streams import Streams
from seedwise.trainables.tasks.classification import accuracy, macro_f1
from seedwise.trainables.training.encoder import Encoder
from seedwise.trainables.training.learner import Learner


@dataclass(frozen=True)
class LandscapeInputs:
    """The method's own inputs, and the training sets of the targets, which only a landscape reads."""

    method: str
    own: Any
    targets: list[str]
    labelled: dict[str, Any]  # training sets by target; empty if the landscape uses none
    match: str  # updates or epochs

    @property
    def notes(self) -> tuple[str, ...]:
        return self.own.notes


class DevSet:
    """A dev set whose batches stay on the device, since it is scored at many points."""

    def __init__(self, learner: Learner, data: Encoded, table: Tensor | None, classes: int):
        self.learner, self.truth, self.classes = learner, data.labels, classes
        self.batches = [(rows, batch.pop("labels"), batch) for rows, batch in learner.batches(data, table=table)]

    def scores(self) -> dict[str, float]:
        """The current model's metrics of classification, and its mean cross entropy as `loss`."""
        predicted, loss = np.empty(len(self.truth), dtype=np.int64), 0.0
        for rows, labels, batch in self.batches:
            logits = self.learner.logits(batch).float()
            predicted[rows] = logits.argmax(-1).cpu().numpy()
            loss += cross_entropy(logits, labels, reduction="sum").item()
        f1 = macro_f1(self.truth, predicted, self.classes)
        return {"macro_f1": f1, "accuracy": accuracy(self.truth, predicted), "loss": loss / len(self.truth)}


@dataclass
class Subject:
    """A run of a method on other training data, with the one model that the run trains."""

    run: Method
    learner: Learner
    encoder: Encoder  # from which the model started
    pool: Any  # all training examples, with a length and `take(rows)`
    size: int  # examples of an epoch
    streams: Streams
    train_on: Callable[[Any], None]  # sets the examples of the following epochs
    sets: dict[str, tuple[Encoded, Tensor | None]]  # dev sets by language, and the tables that their ids are rows of
    classes: int

    def step(self, number: int) -> dict[str, float]:
        """Train for an epoch and return the method's own metrics."""
        self.train_on(self.pool.take(epoch_rows(len(self.pool), self.size, number, self.streams)))
        return self.run.step(number)

    def begin_as(self, named: dict[str, np.ndarray]) -> None:
        """Give the model the parameters of a stored model."""
        with torch.no_grad():
            for name, value in self.learner.model.state_dict(keep_vars=True).items():
                if name in named:
                    value.copy_(torch.from_numpy(np.array(named[name])))

    @cached_property
    def parameters(self) -> Parameters:
        """The model's parameters as one vector. Use after training only, since this moves the parameters in memory."""
        model = self.learner.model
        encoder = {f"{model.base_model_prefix}.{name}" for name in self.encoder.weights}
        return Parameters(model, {name for name, _ in model.named_parameters() if name not in encoder})

    @cached_property
    def dev(self) -> dict[str, DevSet]:
        return {language: DevSet(self.learner, *data, self.classes) for language, data in self.sets.items()}

    def scores(self) -> dict[str, float]:
        """The current model's scores on all dev sets."""
        return {f"dev/{name}/{key}": value for key, dev in self.dev.items() for name, value in dev.scores().items()}


def epoch_rows(pool: int, size: int, epoch: int, streams: Streams) -> np.ndarray:
    """The `size` rows that an epoch uses of a training set of `pool` examples; all of them if `size` is `pool`.

    Otherwise the epochs go through the set again and again, reshuffled each time: every example comes once before any
    example comes twice. So each epoch has the same number of updates, whatever the model is trained on.
    """
    if pool == size:
        return np.arange(pool)
    start, end = epoch * size, (epoch + 1) * size
    rounds = range(start // pool, -(-end // pool))
    orders = [np.random.default_rng(streams.seed("order", -1, turn)).permutation(pool) for turn in rounds]
    first = start - rounds[0] * pool
    return np.concatenate(orders)[first : first + size]
