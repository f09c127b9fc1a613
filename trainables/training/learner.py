"""Fine-tuning with the options that all methods share, epoch by epoch."""

import math
from collections.abc import Callable, Iterator
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from seedwise.trainables.inputs.text import Encoded
from seedwise.trainables.method import RunFailed
from seedwise.trainables.training.optimiser import Trainer
from seedwise.trainables.training.options import TrainingOptions

Batch = dict[str, Tensor]


class Sized(Protocol):
    """A training set, as far as its order goes: how many examples, and their lengths in tokens."""

    lengths: np.ndarray

    def __len__(self) -> int: ...


class Learner(Trainer):
    """A classifier under training. `examples` sizes the schedule: updates per epoch times epochs."""

    options: TrainingOptions

    def __init__(self, model: PreTrainedModel, options: TrainingOptions, examples: int, device: torch.device):
        super().__init__(model, options, options.epochs * updates_per_epoch(examples, options), device)

    def epoch(self, data: Encoded, *, order: int, dropout: int, loss_of: Callable[[Batch], Tensor]) -> float:
        """One pass over `data`; see `pass_over`. `loss_of` gets a batch and gives its mean loss."""
        return self.pass_over(
            data, order=order, dropout=dropout, loss_of=lambda rows: loss_of(batch_of(data, rows, self.device))
        )

    def pass_over(self, data: Sized, *, order: int, dropout: int, loss_of: Callable[[np.ndarray], Tensor]) -> float:
        """One pass over `data`, shuffled by the seed `order`, with dropout drawn from the seed `dropout`.

        `loss_of` gets the numbers of a few examples, and gives their mean loss. Both seeds are set here and nowhere
        else, so an epoch does not depend on what this process did before it. Returns the mean loss per example; a loss
        that is not finite ends the run.
        """
        torch.manual_seed(dropout)
        self.model.train()
        permutation = np.random.default_rng(order).permutation(len(data))
        size, group = self.options.batch_size, self.options.batch_size * self.options.accumulation
        total = 0.0
        for start in range(0, len(data), group):
            chosen = by_length(data, permutation[start : start + group])
            for first in range(0, len(chosen), size):
                rows = chosen[first : first + size]
                with self.autocast():
                    loss = loss_of(rows)
                self.scaler.scale(loss * (len(rows) / len(chosen))).backward()
                total += loss.item() * len(rows)
            if not math.isfinite(total):
                raise RunFailed("nan", f"the training loss is {total}")
            self.update()
        return total / len(data)

    def predict(self, data: Encoded, *, table: Tensor | None = None, batch_size: int = 64) -> np.ndarray:
        """The most likely class of every example, without dropout.

        With a `table`, ids are its rows and the model's own word table is not used. The model then sees vectors and no
        ids, so one that reads meaning into ids (RoBERTa counts positions from its padding id) cannot misread them.
        """
        predicted = np.empty(len(data), dtype=np.int64)
        for rows, batch in self.batches(data, table=table, batch_size=batch_size):
            batch.pop("labels")
            predicted[rows] = self.logits(batch).argmax(-1).cpu().numpy()
        return predicted

    def batches(
        self, data: Encoded, *, table: Tensor | None = None, batch_size: int = 64
    ) -> Iterator[tuple[np.ndarray, Batch]]:
        """Batches to predict, each with the numbers of its examples; `table` as of `predict`."""
        order = by_length(data, np.arange(len(data)))
        for first in range(0, len(order), batch_size):
            rows = order[first : first + batch_size]
            yield rows, looked_up(batch_of(data, rows, self.device), table)

    def logits(self, batch: Batch) -> Tensor:
        """What the model says of a batch without labels, without dropout."""
        self.model.eval()
        with torch.inference_mode(), self.autocast():
            return self.model(**batch).logits


def updates_per_epoch(examples: int, options: TrainingOptions) -> int:
    """Updates, not micro-batches: a schedule sized in the wrong unit ends far from zero."""
    return math.ceil(examples / (options.batch_size * options.accumulation))


def by_length(data: Sized, chosen: np.ndarray) -> np.ndarray:
    """Examples of one update, or of none, in the order of their lengths: batches of alike ones have little padding."""
    return chosen[np.argsort(data.lengths[chosen], kind="stable")]


def looked_up(batch: Batch, table: Tensor | None) -> Batch:
    """The batch with the rows of `table` in the place of its ids; without a table as it is."""
    if table is None:
        return batch
    rest = {name: value for name, value in batch.items() if name != "input_ids"}
    return {**rest, "inputs_embeds": nn.functional.embedding(batch["input_ids"], table)}


def batch_of(data: Encoded, rows: np.ndarray, device: torch.device) -> Batch:
    """A batch of these examples, cut to its longest one."""
    lengths = torch.from_numpy(data.lengths[rows])
    longest = int(lengths.max())
    batch = {
        "input_ids": torch.from_numpy(data.ids[rows, :longest].astype(np.int64)),
        "attention_mask": (torch.arange(longest) < lengths[:, None]).long(),
        "labels": torch.from_numpy(data.labels[rows]),
    }
    if data.types is not None:
        batch["token_type_ids"] = torch.from_numpy(data.types[rows, :longest].astype(np.int64))
    return {name: value.to(device) for name, value in batch.items()}
