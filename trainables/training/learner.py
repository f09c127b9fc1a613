"""Fine-tuning with the options that all methods share, epoch by epoch."""

import math
from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from seedwise.trainables.inputs.text import Encoded
from seedwise.trainables.method import RunFailed
from seedwise.trainables.training.optimiser import Trainer
from seedwise.trainables.training.options import TrainingOptions

Batch = dict[str, Tensor]

EVALUATION_BATCH = 64  # examples per forward pass


class Learner(Trainer):
    """A classifier in training. `examples`, the number of examples in an epoch, sets the length of the schedule."""

    options: TrainingOptions

    def __init__(self, model: PreTrainedModel, options: TrainingOptions, examples: int, device: torch.device):
        super().__init__(model, options, options.epochs * updates_per_epoch(examples, options), device)

    def epoch(self, data: Encoded, *, order: int, dropout: int, loss_of: Callable[[Batch], Tensor]) -> float:
        """Train for one epoch on `data`; see `epoch_of_rows`. `loss_of` gets a batch and returns its mean loss."""
        return self.epoch_of_rows(
            data.lengths, order=order, dropout=dropout, loss_of=lambda rows: loss_of(batch_of(data, rows, self.device))
        )

    def epoch_of_rows(
        self, lengths: np.ndarray, *, order: int, dropout: int, loss_of: Callable[[np.ndarray], Tensor]
    ) -> float:
        """Train for one epoch on examples of these lengths. `order` is the seed of the shuffle, `dropout` of dropout.

        `loss_of` gets the row numbers of a few examples and returns their mean loss. Both seeds are set here alone, so
        an epoch does not depend on what this process did before. Returns the mean loss per example. A loss that is not
        finite fails the run.
        """
        torch.manual_seed(dropout)
        self.model.train()
        permutation = np.random.default_rng(order).permutation(len(lengths))
        size, group = self.options.batch_size, self.options.batch_size * self.options.accumulation
        total = 0.0
        for start in range(0, len(lengths), group):
            chosen = by_length(lengths, permutation[start : start + group])
            for first in range(0, len(chosen), size):
                rows = chosen[first : first + size]
                with self.autocast():
                    loss = loss_of(rows)
                self.scaler.scale(loss * (len(rows) / len(chosen))).backward()
                total += loss.item() * len(rows)
            if not math.isfinite(total):
                raise RunFailed("nan", f"the training loss is {total}")
            self.update()
        return total / len(lengths)

    def predict(self, data: Encoded, *, table: Tensor | None = None) -> np.ndarray:
        """The most likely class of every example, without dropout.

        With a `table`, ids are rows of this table and the model's own word table is not used. The model then gets
        vectors and no ids, so a model that interprets ids (RoBERTa counts positions from its padding id) is not misled.
        """
        predicted = np.empty(len(data), dtype=np.int64)
        for rows, batch in self.batches(data, table=table):
            batch.pop("labels")
            predicted[rows] = self.logits(batch).argmax(-1).cpu().numpy()
        return predicted

    def batches(self, data: Encoded, *, table: Tensor | None = None) -> Iterator[tuple[np.ndarray, Batch]]:
        """Batches for evaluation, each with the row numbers of its examples; `table` as for `predict`."""
        order = by_length(data.lengths, np.arange(len(data)))
        for first in range(0, len(order), EVALUATION_BATCH):
            rows = order[first : first + EVALUATION_BATCH]
            yield rows, looked_up(batch_of(data, rows, self.device), table)

    def logits(self, batch: Batch) -> Tensor:
        """The logits of a batch without labels, without dropout."""
        self.model.eval()
        with torch.inference_mode(), self.autocast():
            return self.model(**batch).logits


def updates_per_epoch(examples: int, options: TrainingOptions) -> int:
    """The number of updates, not of micro-batches: a schedule in the wrong unit would end far from zero."""
    return math.ceil(examples / (options.batch_size * options.accumulation))


def by_length(lengths: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The rows sorted by length, shortest first: batches of similar lengths need little padding."""
    return rows[np.argsort(lengths[rows], kind="stable")]


def looked_up(batch: Batch, table: Tensor | None) -> Batch:
    """The batch with its ids replaced by the rows of `table`; unchanged without a table."""
    if table is None:
        return batch
    rest = {name: value for name, value in batch.items() if name != "input_ids"}
    return {**rest, "inputs_embeds": nn.functional.embedding(batch["input_ids"], table)}


def batch_of(data: Encoded, rows: np.ndarray, device: torch.device) -> Batch:
    """A batch of these examples, padded to the longest of them."""
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
