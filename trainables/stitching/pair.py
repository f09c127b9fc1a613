"""One language pair under stitching: the tables F^s and F^t, and the source model that is trained on the one and tested
with the other."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace

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
from seedwise.trainables.stitching.weightings import Weighting
from seedwise.trainables.streams import Streams
from seedwise.trainables.tasks.classification import scores
from seedwise.trainables.training.encoder import initialise, skeleton
from seedwise.trainables.training.learner import Learner, looked_up

VERSION = 1  # of what `neighbours` returns; a new one finds all of them anew
MOST = 8  # tables whose neighbours a process remembers: two for each language and number of anchors
RECENT: dict[str, Neighbours] = {}  # by what they were found for, the oldest first


class Pair:
    """F^s depends on the anchors, and so on the pair: every target language has a source model of its own."""

    def __init__(
        self,
        inputs: StitchingInputs,
        target: Target,
        options: StitchingOptions,
        streams: Streams,
        device: torch.device,
    ):
        self.inputs, self.target, self.streams = inputs, target, streams
        self.lookup: Tensor | None = None  # the table that ids of the training set are rows of; None: the model's own
        self.specials = torch.from_numpy(inputs.specials)
        model = skeleton(inputs.encoder, len(inputs.labels))
        initialise(model, inputs.encoder, streams.seed("head"))
        original = model.get_input_embeddings().weight.detach().clone()
        self.tables = Tables(original, self.specials, target, options, streams.seed("anchors"), inputs.largest_k)
        self.words, of_words = self.tables.target(target.vectors[: target.used])
        self.counts = {"source": self.tables.counts, "target": of_words}
        model.get_input_embeddings().weight.data.copy_(self.tables.source)
        self.learner = Learner(model, options, len(inputs.train), device)
        # Models of several languages take turns on a GPU, which has room for one.
        self.rests = torch.device("cpu") if len(inputs.targets) > 1 else device
        self.learner.move(self.rests)
        # Rows of the special tokens in the target table: None means as fine-tuned, looked up when scoring.
        self.fixed_specials = {
            "tuned": None,
            "pretrained": original[self.specials],
            "reconstruct": self.tables.source[self.specials],
        }[options.specials]

    @contextmanager
    def at_work(self) -> Iterator[Learner]:
        """The learner on its device, for as long as it takes."""
        self.learner.move(self.learner.device)
        try:
            yield self.learner
        finally:
            self.learner.move(self.rests)

    def train_on(self, train: Encoded, lookup: Tensor | None) -> None:
        """Take these examples for the epochs to come, their ids being rows of `lookup`, which is not trained; without
        it, rows of the model's own table."""
        self.inputs, self.lookup = replace(self.inputs, train=train), lookup

    def epoch(self, number: int) -> tuple[float, dict[str, float], dict[str, float]]:
        """Train for one epoch; the training loss, the scores on source dev and those on target dev."""
        with self.at_work() as learner:
            loss = learner.epoch(
                self.inputs.train,
                order=self.streams.seed("order", number),
                dropout=self.streams.seed("dropout", number),
                loss_of=lambda batch: learner.model(**looked_up(batch, self.lookup)).loss,
            )
            return loss, self.on_source(self.inputs.dev), self.on_target(self.target.dev, self.words)

    def test(self, source: Encoded, target: WordSet | None) -> tuple[dict[str, float], dict[str, float]]:
        """Scores on the test sets of the source and of the target, which a pivot does not have.

        The target's words get their rows of F^t from the anchors that dev's words had.
        """
        with self.at_work():
            rows = None if target is None else self.tables.target(target.vectors)[0]
            return self.on_source(source), {} if target is None else self.on_target(target.data, rows)

    def on_source(self, data: Encoded) -> dict[str, float]:
        return scores(data.labels, self.learner.predict(data), self.inputs.labels)

    def on_target(self, data: Encoded, words: Tensor) -> dict[str, float]:
        return scores(data.labels, self.learner.predict(data, table=self.table(words)), self.inputs.labels)

    def table(self, words: Tensor) -> Tensor:
        """The whole target table: the special tokens, then `words`, rows of F^t."""
        tuned, specials = self.learner.model.get_input_embeddings().weight.detach(), self.fixed_specials
        if specials is None:
            specials = tuned[self.specials.to(tuned.device)]
        return torch.cat([specials.to(tuned.device), words.to(tuned.device)])

    def metrics(self) -> dict[str, float]:
        """How many anchors there were, and the shares of rows that needed a rule, in both tables."""
        found = {"anchors": float(len(self.tables.anchors))}
        for side, counts in self.counts.items():
            for name in ("zero", "negative", "vanishing", "ties"):
                found[f"{side}_{name}_share"] = getattr(counts, name) / max(1, counts.rows)
        return found


class Tables:
    """F^s for the whole source vocabulary, and F^t as a function of the vectors of target words.

    Special tokens exist on the source side only: their rows in F^s are the encoder's own unless the options
    reconstruct them. Rows without a direction (unused pieces, words with a zero vector) keep the original row, or take
    the mean of the anchors: there is nothing to measure cosines with.
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
        self.anchors = anchors.choose(target.candidates, options, anchor_seed, vectors, original)
        if self.anchors is None:
            raise ValueError("no pair of the lexicon is left as an anchor by pieces, phrases, casing and stop words")
        self.norm = float(original.norm(dim=1).mean())
        # Drawn anchors differ between replicates, and their neighbours would fill a disk: a process remembers them.
        self.largest_k, self.keep = largest_k, options.anchors == "all"

        empty = original.norm(dim=1) < ZERO
        self.source, self.counts = self._stitch(original - centre, self.anchors.source - centre, empty, keep=self.keep)
        self.source[empty] = original[empty]
        if options.specials != "reconstruct":
            self.source[specials] = original[specials]

    def target(self, words: np.ndarray, *, keep: bool = True) -> tuple[Tensor, Counts]:
        """Rows of F^t for words with these vectors. Their neighbours are kept for other runs unless told otherwise."""
        directions, empty = (
            torch.from_numpy(words - self.centre),
            torch.from_numpy(np.linalg.norm(words, axis=1) < ZERO),
        )
        table, counts = self._stitch(directions, torch.from_numpy(self.anchors.target), empty, keep=keep and self.keep)
        table[empty] = self.anchors.source.mean(0)
        return table, counts

    def _stitch(self, words: Tensor, own_anchors: Tensor, empty: Tensor, *, keep: bool) -> tuple[Tensor, Counts]:
        """Every word from its nearest anchors in its own space, as a mean of their source vectors.

        `empty` words are those without a direction before they were centred; here they are only counted.
        """
        options, source = self.options, self.anchors.source
        weigh = Weighting(options.weighting, tau=options.tau, exponent=options.exponent, negatives=options.negatives)
        everyone = options.k == "all"
        k = self.largest_k if everyone else options.k
        found = None
        if not everyone or weigh.sparse:
            found = found_neighbours(words, own_anchors, max(k, self.largest_k), keep=keep)
            if everyone and weigh(found.similarity)[:, -1].any():  # some word has a use for more anchors than these
                found = None
        if found is None:
            table, counts = stitch_all(words, own_anchors, source, weigh)
        else:
            table, counts = combine(found, source, k, weigh)
        counts = replace(counts, zero=int((empty | (words.norm(dim=1) < ZERO)).sum()))
        counts = replace(counts, ties=0) if everyone else counts  # nothing is cut off
        return (to_norm(table, self.norm) if options.renorm else table), counts


def found_neighbours(words: Tensor, own_anchors: Tensor, k: int, *, keep: bool) -> Neighbours:
    """`neighbours`, found once for these words and anchors: by this process, or with `keep` by this machine ever.

    The number of threads and the processor are part of the key: a sum that is split otherwise may round otherwise.
    """
    key = {
        "words": content_hash(words.numpy()),
        "anchors": content_hash(own_anchors.numpy()),
        "k": k,
        "by": [VERSION, torch.__version__, torch.get_num_threads(), torch.backends.cpu.get_cpu_capability()],
    }
    names = [one.name for one in fields(Neighbours)]
    mark = str(key)
    if mark not in RECENT:

        def make() -> dict[str, np.ndarray]:
            found = neighbours(words, own_anchors, k)
            return {name: getattr(found, name).numpy() for name in names}

        arrays = cached("neighbours", key, make) if keep else make()
        RECENT[mark] = Neighbours(*(torch.from_numpy(np.array(arrays[name])) for name in names))
        if len(RECENT) > MOST:
            RECENT.pop(next(iter(RECENT)))
    return RECENT[mark]
