"""What EAR and its baselines share: one multilingual classifier, fine-tuned on the source, scored in every language."""

import json
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel

from seedwise.trainables.ear.augment import Dictionary
from seedwise.trainables.ear.examples import Examples
from seedwise.trainables.ear.heads import set_head
from seedwise.trainables.ear.options import AugmentedOptions, PlainOptions
from seedwise.trainables.ear.prepare import EarInputs
from seedwise.trainables.inputs.pieces import Sentences
from seedwise.trainables.inputs.text import Encoded
from seedwise.trainables.request import Request
from seedwise.trainables.streams import Streams
from seedwise.trainables.tasks.classifier import Classifier
from seedwise.trainables.training.encoder import initialise, skeleton
from seedwise.trainables.training.learner import Learner

POINTS = 200  # of a curve over a whole run, at most


class Tuned(Classifier):
    """One run. A subclass says what the loss of a few rows is."""

    options_type: ClassVar[type[PlainOptions]]
    options: Any

    @classmethod
    def streams_used(cls, params: dict) -> tuple[str, ...]:
        augmented = issubclass(cls.options_type, AugmentedOptions)
        return ("head", "order", "dropout", *(["augmentation"] if augmented else []))

    def __init__(self, inputs: EarInputs, params: dict, streams: Streams, device: Any):
        super().__init__(inputs, params, streams, device)
        self.options = options = self.options_type(**params)
        self.steps = options.epochs
        self.train_on(inputs.train)
        model = skeleton(inputs.encoder, len(inputs.labels))
        set_head(model, options.head)
        initialise(model, inputs.encoder, streams.seed("head"))
        self.attach(model)
        self.learner = Learner(model, options, len(self.lengths), device)
        self.sums: dict[str, float] = {}
        self.curves: dict[str, list[list[float]]] = {}  # by name: [batch from 0, value]
        self.batch_number = 0
        if isinstance(options, AugmentedOptions):
            self.dictionary = Dictionary(
                inputs.synonyms,
                scale=options.scale,
                seed=streams.seed("augmentation"),
                exact=options.matching == "exact",
            )

    def train_on(self, train: Examples) -> None:
        """Take these examples for the epochs to come. The schedule stays that of as many as there were at first."""
        self.inputs = replace(self.inputs, train=train)
        self.lengths = np.tile(train.lengths, getattr(self.options, "copies", 1))

    def attach(self, model: PreTrainedModel) -> None:
        """Prepare the model for more than ordinary passes. Default: nothing."""

    def loss_of(self, rows: np.ndarray) -> Tensor:
        """The mean loss of these rows of the epoch."""
        raise NotImplementedError

    def step(self, number: int) -> dict[str, float]:
        """Train for one epoch."""
        source, self.sums, self.number = self.inputs.source, {}, number
        loss = self.learner.epoch_of_rows(
            self.lengths,
            order=self.streams.seed("order", number),
            dropout=self.streams.seed("dropout", number),
            loss_of=self.loss_of,
        )
        metrics = self.score_sets("dev", self.inputs.dev)
        metrics[f"train/loss/{source}"] = loss
        metrics[f"train/encoder_passes/{source}"] = self.options.passes() * (number + 1) / self.steps
        metrics |= {f"train/{name}/{source}": value for name, value in self.measured().items()}
        return self.reported(number, metrics)

    def measured(self) -> dict[str, float]:
        """What the batches of this epoch added up to, as means over its rows."""
        return {name: total / len(self.lengths) for name, total in self.sums.items()}

    def add(self, name: str, total: float) -> None:
        self.sums[name] = self.sums.get(name, 0.0) + total

    def originals(self, rows: np.ndarray) -> list[Sentences]:
        return [self.inputs.train.sentences[row % len(self.inputs.train)] for row in rows]

    def changed(self, rows: np.ndarray) -> tuple[list[Sentences], list[bool]]:
        """Copies of these rows, and whether anything in them changed. A row's copy depends on no other row."""
        seed = self.streams.seed("augmentation", self.number if self.options.redraw == "epoch" else 0)
        found, live, train = [], [], self.inputs.train
        for row, sentences in zip(rows, self.originals(rows), strict=True):
            copy, count = sentences, 0
            if train.foreign is None or not train.foreign[row % len(train)]:
                copy, count = self.dictionary.copy(sentences, Random(f"{seed}/{row}"))
            found.append(copy)
            live.append(count > 0)
            self.add("changed_share", count / sum(map(len, sentences)))
            self.add("unchanged_pairs", count == 0)
        return found, live

    def labels_of(self, rows: np.ndarray) -> Tensor:
        return torch.from_numpy(self.inputs.train.labels[rows % len(self.inputs.train)]).to(self.learner.device)

    def is_due(self, times: int) -> bool:
        """Whether something that is done at most so many times in a run is done at this batch."""
        batches = -(-len(self.lengths) // self.options.batch_size) * self.steps
        return self.batch_number % -(-batches // times) == 0

    def test(self, tests: dict[str, Encoded]) -> dict[str, float]:
        return self.score_sets("test", tests)

    def pictures(self) -> list[dict]:
        """The words of parallel sentences before and after training, where the task has such sentences."""
        from seedwise.trainables.ear.pictures import projection  # here, because most runs draw nothing

        return projection(self.inputs, self.learner) if self.inputs.parallel else []

    def export(self, request: Request, folder: Path) -> list[Path]:
        """One Hugging Face folder for all languages."""
        from seedwise.trainables.ear.export import export_model

        return [export_model(self, request, folder / "model")]

    def save(self, folder: Path) -> None:
        self.learner.save(folder)
        (folder / "curves.json").write_text(json.dumps([self.batch_number, self.curves]))

    def load(self, folder: Path) -> None:
        self.learner.load(folder)
        self.batch_number, self.curves = json.loads((folder / "curves.json").read_text())
