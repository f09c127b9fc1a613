"""A language pair under stitching: the tables F^s and F^t, and a source model trained on F^s and tested on F^t."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from seedwise.trainables.inputs.cache import cached, content_hash
from seedwise.trainables.inputs.text import Encoded
from seedwise.trainables.stitching import anchors
from seedwise.trainables.stitching.options import StitchingOptions
from seedwise.trainables.stitching.prepare import StitchingInputs
from seedwise.trainables.stitching.reader import Target, WordSet
from seedwise.trainables.stitching.tables import ZERO, Counts, Neighbours, combine, neighbours, stitch_all, to_norm
from seedwise.trainables.stitching.weightings import SPARSE, weights
from seedwise.trainables.streams import Streams
from seedwise.trainables.tasks.classification import scores
from seedwise.trainables.training.encoder import initialise, skeleton
from seedwise.trainables.training.learner import Learner, looked_up

VERSION = 1  # of the cached neighbours; a new version computes all of them again
MAX_RECENT = 8  # tables whose neighbours a process keeps: two for each language and number of anchors
RECENT: dict[str, Neighbours] = {}  # by cache key, the oldest first


class Pair:
    """One target language with its own source model, since F^s depends on the anchors and so on the pair."""

    def __init__(
        self, inputs: StitchingInputs, target: Target, options: StitchingOptions, streams: Streams, device: torch.device
    ):
        self.inputs, self.target, self.streams = inputs, target, streams
        self.lookup: Tensor | None = None  # the table for ids of the training set; None: the model's own
        self.specials = torch.tensor(inputs.specials)  # a copy: arrays from Ray's object store are read-only
        model = skeleton(inputs.encoder, len(inputs.labels))
        initialise(model, inputs.encoder, streams.seed("head"))
        original = model.get_input_embeddings().weight.detach().clone()
        self.tables = Tables(original, self.specials, target, options, streams.seed("anchors"), inputs.largest_k)
        self.words, word_counts = self.tables.target(target.dev_words.vectors)
        self.counts = {"source": self.tables.counts, "target": word_counts}
        model.get_input_embeddings().weight.data.copy_(self.tables.source)
        self.learner = Learner(model, options, len(inputs.train), device)
        # Models of several languages take turns on a GPU, which has room for one model.
        self.idle_device = torch.device("cpu") if len(inputs.targets) > 1 else device
        self.learner.move(self.idle_device)
        # Rows of the special tokens in the target table; None: as fine-tuned, looked up when scoring.
        self.fixed_specials = {
            "tuned": None,
            "pretrained": original[self.specials],
            "reconstruct": self.tables.source[self.specials],
        }[options.specials]

    @contextmanager
    def at_work(self) -> Iterator[Learner]:
        """In this block, the learner is on its device."""
        self.learner.move(self.learner.device)
        try:
            yield self.learner
        finally:
            self.learner.move(self.idle_device)

    def train_on(self, train: Encoded, lookup: Tensor | None) -> None:
        """Use these examples from the next epoch on. Their ids are rows of `lookup`, which is not trained, or, if it is
        None, rows of the model's own table."""
        self.inputs, self.lookup = replace(self.inputs, train=train), lookup

    def epoch(self, number: int) -> tuple[float, dict[str, float], dict[str, float]]:
        """Train for one epoch. Returns the training loss and the scores on source dev and on target dev."""
        with self.at_work() as learner:
            loss = learner.epoch(
                self.inputs.train,
                order=self.streams.seed("order", number),
                dropout=self.streams.seed("dropout", number),
                loss_of=lambda batch: learner.model(**looked_up(batch, self.lookup)).loss,
            )
            return loss, self.scores(self.inputs.dev), self.scores(self.target.dev, self.words)

    def test(self, source: Encoded, target: WordSet | None) -> tuple[dict[str, float], dict[str, float]]:
        """Scores on the test sets of the source and of the target; a pivot has none.

        The rows of F^t for the target's words come from the same anchors as those of dev's words.
        """
        with self.at_work():
            words = None if target is None else self.tables.target(target.vectors)[0]
            return self.scores(source), {} if target is None else self.scores(target.data, words)

    def scores(self, data: Encoded, words: Tensor | None = None) -> dict[str, float]:
        """Scores of a source set, or of a target set whose `words` have these rows of F^t."""
        table = None if words is None else self.table(words)
        return scores(data.labels, self.learner.predict(data, table=table), self.inputs.labels)

    def table(self, words: Tensor) -> Tensor:
        """The whole target table: the special tokens, then `words`, rows of F^t."""
        tuned, specials = self.learner.model.get_input_embeddings().weight.detach(), self.fixed_specials
        if specials is None:
            specials = tuned[self.specials.to(tuned.device)]
        return torch.cat([specials.to(tuned.device), words.to(tuned.device)])

    def metrics(self) -> dict[str, float]:
        """The number of anchors, and the shares of rows in both tables that needed a special rule."""
        metrics = {"anchors": float(len(self.tables.anchors))}
        for side, counts in self.counts.items():
            for name in ("zero", "negative", "vanishing", "ties"):
                metrics[f"{side}_{name}_share"] = getattr(counts, name) / max(1, counts.rows)
        return metrics


class Tables:
    """F^s for the whole source vocabulary, and F^t as a function of the vectors of target words.

    Special tokens exist on the source side only: their rows in F^s are the encoder's own unless the options reconstruct
    them. Rows without a direction have no cosines: unused pieces keep the original row, and target words with a zero
    vector take the mean of the anchors.
    """

    def __init__(
        self,
        original: Tensor,
        specials: Tensor,
        target: Target,
        options: StitchingOptions,
        anchor_seed: int,
        largest_k: int,
    ):
        self.options = options
        centre, self.centre = torch.zeros(original.shape[1]), np.zeros_like(target.mean)
        if options.centre:
            centre, self.centre = original.mean(0), target.mean
        vectors = target.vectors - self.centre
        self.anchors = anchors.choose(target.lexicon, options, anchor_seed, vectors, original)
        if self.anchors is None:
            raise ValueError("the options for pieces, phrases, casing and stop words leave no pair of the lexicon")
        self.norm = float(original.norm(dim=1).mean())
        # Drawn anchors differ between replicates, and their neighbours would fill a disk: they stay in memory.
        self.largest_k, self.on_disk = largest_k, options.anchors == "all"

        empty = original.norm(dim=1) < ZERO
        self.source, self.counts = self._stitch(
            original - centre, self.anchors.source - centre, empty, on_disk=self.on_disk
        )
        self.source[empty] = original[empty]
        if options.specials != "reconstruct":
            self.source[specials] = original[specials]

    def target(self, words: np.ndarray, *, on_disk: bool = True) -> tuple[Tensor, Counts]:
        """Rows of F^t for words with these vectors. With `on_disk`, their neighbours are cached for other runs."""
        empty = torch.from_numpy(np.linalg.norm(words, axis=1) < ZERO)
        own_anchors, on_disk = torch.from_numpy(self.anchors.target), on_disk and self.on_disk
        table, counts = self._stitch(torch.from_numpy(words - self.centre), own_anchors, empty, on_disk=on_disk)
        table[empty] = self.anchors.source.mean(0)
        return table, counts

    def _stitch(self, words: Tensor, own_anchors: Tensor, empty: Tensor, *, on_disk: bool) -> tuple[Tensor, Counts]:
        """Every word as a mean of the source vectors of its nearest anchors in its own space.

        `empty` words had no direction before they were centred; here they are only counted.
        """
        options, source, use_all = self.options, self.anchors.source, self.options.k == "all"
        k = self.largest_k if use_all else options.k
        nearest = None
        if not use_all or options.weighting in SPARSE:
            nearest = cached_neighbours(words, own_anchors, max(k, self.largest_k), on_disk=on_disk)
            if use_all and weights(nearest.similarity, options)[:, -1].any():  # more anchors than these have a weight
                nearest = None
        if nearest is None:
            table, counts = stitch_all(words, own_anchors, source, options)
        else:
            table, counts = combine(nearest, source, k, options)
        counts = replace(counts, zero=int((empty | (words.norm(dim=1) < ZERO)).sum()))
        counts = replace(counts, ties=0) if use_all else counts  # nothing is cut off
        return (to_norm(table, self.norm) if options.renorm else table), counts


def cached_neighbours(words: Tensor, own_anchors: Tensor, k: int, *, on_disk: bool) -> Neighbours:
    """`neighbours`, computed once for these words and anchors: per process or, with `on_disk`, per machine.

    The number of threads and the processor are part of the key: a sum that is split differently may round differently.
    """
    key = {
        "words": content_hash(words.numpy()),
        "anchors": content_hash(own_anchors.numpy()),
        "k": k,
        "by": [VERSION, torch.__version__, torch.get_num_threads(), torch.backends.cpu.get_cpu_capability()],
    }
    if str(key) not in RECENT:

        def make() -> dict[str, np.ndarray]:
            return {name: value.numpy() for name, value in vars(neighbours(words, own_anchors, k)).items()}

        arrays = cached("neighbours", key, make) if on_disk else make()
        RECENT[str(key)] = Neighbours(**{name: torch.from_numpy(np.array(array)) for name, array in arrays.items()})
        if len(RECENT) > MAX_RECENT:
            RECENT.pop(next(iter(RECENT)))
    return RECENT[str(key)]
