"""Plain fine-tuning on the source, scored in every language. EAR and its other baselines change the loss."""

import json
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from transformers import PreTrainedModel

from seedwise.trainables.ear.augment import Dictionary
from seedwise.trainables.ear.examples import Examples
from seedwise.trainables.ear.export import export_model
from seedwise.trainables.ear.heads import set_head
from seedwise.trainables.ear.options import AugmentedOptions, PlainOptions
from seedwise.trainables.ear.pictures import projection
from seedwise.trainables.ear.prepare import EarInputs
from seedwise.trainables.inputs.pieces import Sentences
from seedwise.trainables.inputs.text import Encoded
from seedwise.trainables.request import Request
from seedwise.trainables.streams import Streams
from seedwise.trainables.tasks.classifier import Classifier
from seedwise.trainables.training.encoder import initialise, skeleton
from seedwise.trainables.training.learner import Batch, Learner

CURVE_POINTS = 200  # most points of a curve over a whole run


class FineTuning(Classifier):
    """A run of fine-tuning. Row r of an epoch is example r modulo the number of examples, or one of its copies."""

    options_type: ClassVar[type[PlainOptions]] = PlainOptions
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
        self.sums: dict[str, float] = {}  # over the rows of the current epoch, by metric
        self.curves: dict[str, list[list[float]]] = {}  # by name: [batch from 0, value]
        self.batch_number = 0
        if isinstance(options, AugmentedOptions):
            exact = options.matching == "exact"
            seed = streams.seed("augmentation")
            self.dictionary = Dictionary(inputs.synonyms, scale=options.scale, seed=seed, exact=exact)

    def train_on(self, train: Examples) -> None:
        """Use these examples in the next epochs. The schedule keeps the length set by the first examples."""
        self.inputs = replace(self.inputs, train=train)
        self.lengths = np.tile(train.lengths, getattr(self.options, "copies", 1))

    def attach(self, model: PreTrainedModel) -> None:
        """Add what the loss needs to the model. Default: nothing."""

    def loss_of(self, rows: np.ndarray) -> Tensor:
        """The mean loss of these rows of the epoch."""
        batch, _, _ = self.inputs.train.batch(self.read(rows), self.learner.device)
        return self.loss(batch, self.labels_of(rows))

    def read(self, rows: np.ndarray) -> list[Sentences]:
        """The sentences of these rows, as the model reads them in training."""
        return self.originals(rows)

    def loss(self, batch: Batch, labels: Tensor) -> Tensor:
        return cross_entropy(self.learner.model(**batch).logits, labels)

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
        metrics |= {f"train/{name}/{source}": value for name, value in self.training_metrics().items()}
        return self.reported(number, metrics)

    def training_metrics(self) -> dict[str, float]:
        """Means over the rows of the epoch, by metric."""
        return {name: total / len(self.lengths) for name, total in self.sums.items()}

    def add(self, name: str, total: float) -> None:
        self.sums[name] = self.sums.get(name, 0.0) + total

    def originals(self, rows: np.ndarray) -> list[Sentences]:
        return [self.inputs.train.sentences[row % len(self.inputs.train)] for row in rows]

    def copies(self, rows: np.ndarray) -> tuple[list[Sentences], list[bool]]:
        """Copies of these rows with synonyms, and whether any word changed. A copy depends on its own row alone."""
        seed = self.streams.seed("augmentation", self.number if self.options.redraw == "epoch" else 0)
        copies, changed, train = [], [], self.inputs.train
        for row, sentences in zip(rows, self.originals(rows), strict=True):
            copy, count = sentences, 0
            if train.foreign is None or not train.foreign[row % len(train)]:
                copy, count = self.dictionary.copy(sentences, Random(f"{seed}/{row}"))
            copies.append(copy)
            changed.append(count > 0)
            self.add("changed_share", count / sum(map(len, sentences)))
            self.add("unchanged_pairs", count == 0)
        return copies, changed

    def labels_of(self, rows: np.ndarray) -> Tensor:
        return torch.from_numpy(self.inputs.train.labels[rows % len(self.inputs.train)]).to(self.learner.device)

    def is_due(self, times: int) -> bool:
        """Whether something that is done at most `times` times per run is due at this batch."""
        batches = -(-len(self.lengths) // self.options.batch_size) * self.steps
        return self.batch_number % -(-batches // times) == 0

    def test(self, tests: dict[str, Encoded]) -> dict[str, float]:
        return self.score_sets("test", tests)

    def pictures(self) -> list[dict]:
        """The words of parallel sentences before and after training, if the task has such sentences."""
        return projection(self.inputs, self.learner) if self.inputs.parallel else []

    def export(self, request: Request, folder: Path) -> list[Path]:
        """One Hugging Face folder for all languages."""
        return [export_model(self, request, folder / "model")]

    def save(self, folder: Path) -> None:
        self.learner.save(folder)
        (folder / "curves.json").write_text(json.dumps([self.batch_number, self.curves]))

    def load(self, folder: Path) -> None:
        self.learner.load(folder)
        self.batch_number, self.curves = json.loads((folder / "curves.json").read_text())
