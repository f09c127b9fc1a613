"""X2Static's training of a table of word vectors, update by update, and its checkpoints."""

import json
import math
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor
from torch.nn.functional import embedding, softplus

from seedwise.errors import RequestError
from seedwise.files import replacing
from seedwise.trainables.inputs.words import Words
from seedwise.trainables.static.contexts import FrozenEncoder
from seedwise.trainables.static.corpus import shuffled
from seedwise.trainables.static.options import ExtractOptions
from seedwise.trainables.static.vocabulary import Vocabulary
from seedwise.trainables.streams import Streams

CLAMP = 20.0  # scores beyond it have no gradient, as in X2Static's code


def loss_of(contexts: Tensor, targets: Tensor, negatives: Tensor) -> Tensor:
    """X2Static's loss: mean softplus(-<c, V_w>) + sum over i of mean softplus(<c, V_n_i>), means over the T targets.

    Contexts c and target vectors V_w are (T, d), the vectors V_n_i of the negatives are (T, n, d).
    """
    right = (contexts * targets).sum(-1).clamp(-CLAMP, CLAMP)
    wrong = (negatives @ contexts[:, :, None])[..., 0].clamp(-CLAMP, CLAMP)
    return softplus(-right).mean() + softplus(wrong).mean(0).sum()


def kept_share(counts: np.ndarray, threshold: float) -> np.ndarray:
    """The share of each word's occurrences that become targets: min(1, sqrt(t/f) + t/f), f = count / sum of counts.

    This is the subsampling of word2vec and X2Static, with frequencies within the vocabulary. Threshold 0: all.
    """
    if not threshold:
        return np.ones(len(counts))
    ratio = threshold * counts.sum() / counts
    return np.minimum(1.0, np.sqrt(ratio) + ratio)


class Negatives:
    """Draws rows of the vocabulary with probability ~ sqrt(count), the target's own included, as in X2Static's code."""

    def __init__(self, counts: np.ndarray) -> None:
        self._bounds = np.cumsum(np.sqrt(counts))

    def draw(self, shape: tuple[int, ...], random: np.random.Generator) -> np.ndarray:
        rows = np.searchsorted(self._bounds, random.random(shape) * self._bounds[-1], side="right")
        return np.minimum(rows, len(self._bounds) - 1)  # the product may be rounded up to the last bound


class Training:
    """The table and the progress of its training. Random draws depend on seed, epoch and sentence number alone."""

    def __init__(
        self,
        encoder: FrozenEncoder,
        corpus: Callable[[], Iterator[str]],
        words: Words,
        vocabulary: Vocabulary,
        options: ExtractOptions,
        seed: int,
    ) -> None:
        self.options, self.vocabulary = options, vocabulary
        self._encoder, self._corpus, self._words, self._streams = encoder, corpus, words, Streams(seed, replicate=0)
        self._rows = {word: row for row, word in enumerate(vocabulary.words)}
        self._kept, self._negatives = kept_share(vocabulary.counts, options.subsampling), Negatives(vocabulary.counts)
        spread = 1 / encoder.dimension
        draw = torch.Generator().manual_seed(self._streams.seed("head"))
        start = torch.empty(len(vocabulary.words), encoder.dimension).uniform_(-spread, spread, generator=draw)
        self.table = torch.nn.Parameter(start.to(encoder.device))
        self.trained = torch.zeros(len(vocabulary.words), dtype=torch.bool)  # words that were a target
        self._optimiser = torch.optim.SparseAdam([self.table], lr=options.lr)
        moments = {"exp_avg": torch.zeros_like(self.table.data), "exp_avg_sq": torch.zeros_like(self.table.data)}
        self._optimiser.state[self.table] = {"step": 0, **moments}
        self.epoch, self.sentences = 0, 0  # finished epochs, and finished sentences of the current one
        self._total, self._targets = 0.0, 0  # losses and targets of the current epoch

    @property
    def loss(self) -> float:
        """Mean loss per target of the current epoch; at the end, of the last epoch."""
        return self._total / max(self._targets, 1)

    @property
    def done(self) -> int:
        """The number of sentences read so far, over all epochs."""
        return self.epoch * self.vocabulary.sentences + self.sentences

    def updates(self) -> Iterator[None]:
        """Do the remaining updates. Between two updates the state is consistent, and can be saved."""
        for epoch in range(self.epoch, self.options.epochs):
            if epoch > self.epoch:
                self.epoch, self.sentences, self._total, self._targets = epoch, 0, 0.0, 0
            order = shuffled(self._corpus(), self.options.buffer, self._streams.seed("order", epoch))
            order = islice(order, self.sentences, None)  # skips sentences read before the checkpoint
            while batch := list(islice(order, self.options.batch_size)):
                self._update(batch, np.random.default_rng(self._streams.seed("words", epoch, self.sentences)))
                self.sentences += len(batch)
                yield

    def _update(self, batch: list[str], random: np.random.Generator) -> None:
        texts, sentence, word, targets = self.choose(batch, random)
        if not texts:
            return
        contexts, usable = self._encoder.contexts(texts, sentence, word)
        targets = targets[usable]
        if not len(targets):
            return
        negatives = self._negatives.draw((len(targets), self.options.negatives), random)
        device, right, wrong = self.table.device, torch.from_numpy(targets), torch.from_numpy(negatives)
        vectors = [embedding(rows.to(device), self.table, sparse=True) for rows in (right, wrong)]
        loss = loss_of(contexts, *vectors)
        if not math.isfinite(loss.item()):
            raise RequestError(
                "precision",
                f"in {self.options.precision} the encoder's states are not finite",
                "Write fp32, or name another encoder.",
            )
        self._optimiser.zero_grad()
        loss.backward()
        self._optimiser.step()
        self.trained[right] = True
        self._total += loss.item() * len(targets)
        self._targets += len(targets)

    def choose(
        self, batch: list[str], random: np.random.Generator
    ) -> tuple[list[list[str]], np.ndarray, np.ndarray, np.ndarray]:
        """Choose targets. Returns sentences with targets as words, the shortest first, and the targets as three arrays.

        The arrays are a target's sentence, its position in the sentence, and its row in the vocabulary.
        """
        texts, chosen = [], [np.empty((3, 0), dtype=np.int64)]
        for words in sorted(self._words.split(batch), key=len):
            rows = np.array([self._rows.get(word, -1) for word in words], dtype=np.int64)
            numbers = np.flatnonzero((rows >= 0) & (random.random(len(rows)) < self._kept[rows]))
            if len(numbers):
                chosen.append(np.stack([np.full(len(numbers), len(texts)), numbers, rows[numbers]]))
                texts.append(words)
        return texts, *np.concatenate(chosen, axis=1)

    def save(self, path: Path, fingerprint: str) -> None:
        """Write a checkpoint atomically. `fingerprint` identifies everything that the training depends on."""
        moments = self._optimiser.state[self.table]
        about = {name: getattr(self, name) for name in ("epoch", "sentences", "_total", "_targets")}
        about |= {"fingerprint": fingerprint, "step": moments["step"]}
        tensors = {"table": self.table.detach(), "trained": self.trained}
        tensors |= {name: moments[name] for name in ("exp_avg", "exp_avg_sq")}
        with replacing(path) as partial:
            save_file(tensors, partial, metadata={"about": json.dumps(about)})

    def resume(self, path: Path, fingerprint: str) -> bool:
        """Continue from a checkpoint; False if it is damaged or has another fingerprint."""
        try:
            with safe_open(path, "pt") as file:
                about = json.loads(file.metadata()["about"])
                if about.pop("fingerprint") != fingerprint:
                    return False
                moments = self._optimiser.state[self.table]
                moments["step"] = about.pop("step")
                for name in ("exp_avg", "exp_avg_sq"):
                    moments[name].copy_(file.get_tensor(name))
                self.table.data.copy_(file.get_tensor("table"))
                self.trained.copy_(file.get_tensor("trained"))
        except (OSError, SafetensorError, LookupError, TypeError, ValueError):
            return False
        for name, value in about.items():
            setattr(self, name, value)
        return True
