"""A step of continued pretraining: the blocks and words it draws, its losses, and their gradient in small batches."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel

from seedwise.trainables.dcca.correlation import correlation_loss, mse_loss, reference_loss
from seedwise.trainables.dcca.masking import Masking, mlm_loss
from seedwise.trainables.dcca.options import DccaOptions, MaskedOptions, MseOptions
from seedwise.trainables.dcca.words import Encoding, StaticVectors
from seedwise.trainables.method import RunFailed
from seedwise.trainables.training.device import random_state, set_random_state
from seedwise.trainables.training.learner import by_length
from seedwise.trainables.training.optimiser import Trainer


class Draws:
    """Draws `size` of `count` rows for each step, from the step number alone. `seed_of` turns numbers into seeds.

    Rows come in passes over all rows, each pass shuffled anew; rows that do not fill the last batch of a pass are left
    out. With `anew`, every `anew` rows of a batch are drawn independently, as in the released code (D6): then as many
    batches as a pass has miss a third of the rows.
    """

    def __init__(self, count: int, size: int, seed_of: Callable[[int], int], *, anew: int = 0):
        self.count, self.size, self.seed_of, self.anew = count, min(size, count), seed_of, anew
        self._pass, self._shuffled = -1, np.empty(0, dtype=np.int64)

    def rows(self, step: int) -> np.ndarray:
        """The rows of a step. Without `anew`, all rows of a step differ."""
        if self.anew:
            parts = -(-self.size // self.anew)
            draws = (np.random.default_rng(self.seed_of(step * parts + part)) for part in range(parts))
            drawn = [draw.choice(self.count, min(self.anew, self.count), replace=False) for draw in draws]
            return np.concatenate(drawn)[: self.size]
        number, batch = divmod(step, self.count // self.size)
        if number != self._pass:
            self._pass, self._shuffled = number, np.random.default_rng(self.seed_of(number)).permutation(self.count)
        return self._shuffled[batch * self.size : (batch + 1) * self.size]


class Pretrainer(Trainer):
    """A masked language model under continued pretraining.

    A step minimises L = L_mlm + weight L_align, where L_mlm is a mean over all masked tokens of the step. The gradient
    is summed over forward passes of a few blocks or words, so memory does not depend on the step's size.
    """

    options: MaskedOptions

    def __init__(self, model: PreTrainedModel, options: MaskedOptions, masking: Masking, device: torch.device):
        super().__init__(model, options, options.steps, device)
        self.masking = masking

    def step(
        self, blocks: np.ndarray, mask_seed: int, static: StaticVectors | None, rows: np.ndarray
    ) -> dict[str, float]:
        """Do one update on these blocks, masked by the seed, and on these rows of the static vectors."""
        self.model.train()
        losses = {"mlm_loss": self.predict_masked(blocks, mask_seed)}
        if self.options.alignment != "none":
            losses["alignment"] = self.align(static, rows)
        if not all(map(math.isfinite, losses.values())):
            raise RunFailed("nan", f"the training losses are {losses}")
        self.update()
        return losses

    def predict_masked(self, blocks: np.ndarray, mask_seed: int) -> float:
        """Add the gradient of the loss on masked words, and return this loss."""
        masked, labels = self.masking(blocks, self.options.mask_rate, mask_seed)
        total, count = 0.0, int((labels >= 0).sum())
        for start in range(0, len(blocks), self.options.block_batch):
            part = slice(start, start + self.options.block_batch)
            with self.autocast():
                loss = mlm_loss(self.model, self._ids(masked[part]), self._ids(labels[part]), self.masking.pad)
            self.scaler.scale(loss / count).backward()
            total += loss.item()
        return total / count

    def align(self, static: StaticVectors, rows: np.ndarray) -> float:
        """Add the gradient of the weighted alignment loss; return the loss without its weight."""
        options = self.options
        encoding = Encoding(self.masking.pad, options.layer, options.pooling, options.padding)
        if not batches_matter(options):
            rows = by_length(static.pieces.lengths, rows)
        targets = torch.from_numpy(static.table[rows]).to(self.device)
        parts = [slice(start, start + options.word_batch) for start in range(0, len(rows), options.word_batch)]
        batches = [encoding.batch(static.pieces, rows[part], self.device) for part in parts]

        def encode(batch: tuple[Tensor, Tensor]) -> Tensor:
            with self.autocast():
                return encoding(self.model, batch)

        def scaled(loss: Tensor) -> Tensor:
            return self.scaler.scale(loss * options.weight)

        loss_of = alignment_loss(options)
        if options.alignment == "dcca" and options.loss == "projected":  # not a sum over words: needs all at once
            return cached_backward(
                encode, batches, lambda encodings: loss_of(encodings, targets), device=self.device, scaled=scaled
            )
        total = 0.0
        for batch, part in zip(batches, parts, strict=True):
            loss = loss_of(encode(batch), targets[part]) * (len(batch[0]) / len(rows))
            scaled(loss).backward()
            total += loss.item()
        return total

    def _ids(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(array.astype(np.int64)).to(self.device)


def batches_matter(options: MseOptions) -> bool:
    """Whether the loss depends on which words share a forward pass, so that words must stay in the order drawn."""
    return options.padding == "attended" or (options.alignment == "dcca" and options.loss == "released")


def alignment_loss(options: MseOptions) -> Callable[[Tensor, Tensor], Tensor]:
    """The loss between encodings of words and their static vectors."""
    if options.alignment == "mse":
        return mse_loss
    assert isinstance(options, DccaOptions)
    if options.loss == "released":
        return partial(reference_loss, top_k=options.top_k)
    return partial(correlation_loss, top_k=options.top_k, directions=options.directions, ridge=options.ridge)


def cached_backward(
    encode: Callable[[Any], Tensor],
    batches: Sequence[Any],
    loss_of: Callable[[Tensor], Tensor],
    *,
    device: torch.device,
    scaled: Callable[[Tensor], Tensor] = lambda loss: loss,
) -> float:
    """Gradient caching: add the gradient of a loss over all words at once, in the memory of a batch; return the loss.

    A correlation is not a sum over words, so it cannot be computed per micro-batch. The encodings of all words fit
    into memory, the activations do not. So words are encoded twice: first without a graph, for the loss and its
    gradient by every encoding, then batch by batch with a graph, into which the rows of that gradient are fed.

    `encode` returns a row for each word of a batch. It must contain autocast, so that autocast ends before the backward
    pass. Dropout is the same both times, as the generator of `device` is reset before each batch; the generator ends as
    if everything had been encoded once before `loss_of`. `scaled` turns the loss into the differentiated value (by a
    weight, a GradScaler's `scale`); the returned loss is unscaled.
    """
    states, rows = [], []
    with torch.no_grad():
        for batch in batches:
            states.append(random_state(device))
            rows.append(encode(batch))
    encodings = torch.cat(rows).requires_grad_()
    loss = loss_of(encodings)
    (gradient,) = torch.autograd.grad(scaled(loss), encodings)
    end = random_state(device)
    for batch, state, part in zip(batches, states, gradient.split([len(part) for part in rows]), strict=True):
        set_random_state(device, state)
        encode(batch).backward(part)
    set_random_state(device, end)
    return loss.item()
