"""The methods whose landscapes can be seen, each as what a landscape needs of it: other training data, one model, and
its dev sets. The method's own code trains and scores; nothing of it is written again here."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from seedwise.trainables.inputs.text import Encoded
from seedwise.trainables.landscape.data import rows_of
from seedwise.trainables.landscape.mixing import Parameters
from seedwise.trainables.method import Method
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
    labelled: dict[str, Any]  # by target; empty where the landscape does without
    match: str  # updates, or epochs

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
    pool: Any  # all that it is trained on, with a length and `take(rows)`
    size: int  # examples of an epoch
    streams: Streams
    train_on: Callable[[Any], None]  # take these examples for the epochs to come
    sets: dict[str, tuple[Encoded, Tensor | None]]  # dev sets by language, and the tables that their ids are rows of
    classes: int

    def step(self, number: int) -> dict[str, float]:
        """Train for an epoch; the method's own metrics."""
        self.train_on(self.pool.take(rows_of(len(self.pool), self.size, number, self.streams)))
        return self.run.step(number)

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
