"""The model of continued pretraining and one step of it: masked words, and isolated words drawn to static vectors."""

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel

from seedwise.trainables.dcca.caching import cached_backward
from seedwise.trainables.dcca.correlation import correlation_loss, mse_loss, reference_loss
from seedwise.trainables.dcca.masking import Hiding, guessing_loss
from seedwise.trainables.dcca.options import DccaOptions, MaskedOptions, MseOptions
from seedwise.trainables.dcca.words import Encoding, Static
from seedwise.trainables.method import RunFailed
from seedwise.trainables.training.learner import by_length
from seedwise.trainables.training.optimiser import Trainer


class Pretrainer(Trainer):
    """A masked language model under continued pretraining.

    The gradient of a step is that of L = L_mlm + weight L_align, L_mlm a mean over all hidden tokens of the step. It is
    summed up over forward passes of a few blocks, and of a few words, so memory does not depend on the step's size.
    """

    options: MaskedOptions

    def __init__(self, model: PreTrainedModel, options: MaskedOptions, hiding: Hiding, device: torch.device):
        super().__init__(model, options, options.steps, device)
        self.hiding = hiding

    def step(self, blocks: np.ndarray, masks: int, static: Static | None, rows: np.ndarray) -> dict[str, float]:
        """One update from these blocks, hidden by the seed `masks`, and from these rows of the static vectors."""
        self.model.train()
        losses = {"mlm_loss": self.guess(blocks, masks)}
        if self.options.alignment != "none":
            losses["alignment"] = self.align(static, rows)
        if not all(map(math.isfinite, losses.values())):
            raise RunFailed("nan", f"the training losses are {losses}")
        self.update()
        return losses

    def guess(self, blocks: np.ndarray, masks: int) -> float:
        """Add the gradient of the masked words."""
        hidden, labels = self.hiding(blocks, self.options.mask_rate, masks)
        total, count = 0.0, int((labels >= 0).sum())
        for start in range(0, len(blocks), self.options.block_batch):
            part = slice(start, start + self.options.block_batch)
            with self.autocast():
                loss = guessing_loss(self.model, self._ids(hidden[part]), self._ids(labels[part]), self.hiding.pad)
            self.scaler.scale(loss / count).backward()
            total += loss.item()
        return total / count

    def align(self, static: Static, rows: np.ndarray) -> float:
        """Add the gradient of the alignment, times its weight. Words of like lengths share a forward pass."""
        options = self.options
        encoding = Encoding(self.hiding.pad, options.layer, options.pooling, options.padding)
        if not split_matters(options):
            rows = by_length(static.pieces.lengths, rows)
        targets = torch.from_numpy(static.table[rows]).to(self.device)
        parts = [slice(start, start + options.word_batch) for start in range(0, len(rows), options.word_batch)]
        batches = [encoding.batch(static.pieces, rows[part], self.device) for part in parts]

        def encode(batch: tuple[Tensor, Tensor]) -> Tensor:
            with self.autocast():
                return encoding(self.model, batch)

        def scaled(loss: Tensor) -> Tensor:
            return self.scaler.scale(loss * options.weight)

        loss_of = alignment_of(options)
        if options.alignment == "dcca" and options.loss == "projected":  # no sum over words: needs all at once
            return cached_backward(
                encode, batches, lambda found: loss_of(found, targets), device=self.device, scaled=scaled
            )
        total = 0.0
        for batch, part in zip(batches, parts, strict=True):
            loss = loss_of(encode(batch), targets[part]) * (len(batch[0]) / len(rows))
            scaled(loss).backward()
            total += loss.item()
        return total

    def _ids(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(array.astype(np.int64)).to(self.device)


def split_matters(options: MseOptions) -> bool:
    """Whether the loss depends on which words share a forward pass: then they are those that were drawn together."""
    return options.padding == "attended" or (options.alignment == "dcca" and options.loss == "released")


def alignment_of(options: MseOptions) -> Callable[[Tensor, Tensor], Tensor]:
    """The loss between vectors of words and their static ones that the options ask for."""
    if options.alignment == "mse":
        return mse_loss
    assert isinstance(options, DccaOptions)
    if options.loss == "released":
        return lambda found, targets: reference_loss(found, targets, top_k=options.top_k)
    return lambda found, targets: correlation_loss(
        found, targets, top_k=options.top_k, directions=options.directions, ridge=options.ridge
    )
