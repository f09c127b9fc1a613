"""One language pair under stitching: the tables F^s and F^t, and the source model that is trained on the one and tested
with the other."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from trainables.encoder import initialise, skeleton
from trainables.inputs.text import Encoded
from trainables.stitching import anchors
from trainables.stitching.options import StitchingOptions
from trainables.stitching.prepare import StitchingInputs, Target, TargetTest
from trainables.stitching.tables import ZERO, stitch, to_norm
from trainables.stitching.weightings import weighting
from trainables.streams import Streams
from trainables.tasks.classification import scores
from trainables.training import Learner


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
        self.specials = torch.from_numpy(inputs.specials)
        model = skeleton(inputs.encoder, len(inputs.labels))
        initialise(model, inputs.encoder, streams.seed("head"))
        original = model.get_input_embeddings().weight.detach().clone()
        seed = streams.seed("anchors")
        source, self.stitched, self.anchors = tables(original, self.specials, target, options, seed)
        self.words = self.stitched(target.vectors[: target.used])
        model.get_input_embeddings().weight.data.copy_(source)
        self.learner = Learner(model, options, len(inputs.train), device)
        # Rows of the special tokens in the target table: None means as fine-tuned, looked up when scoring.
        self.fixed_specials = {
            "tuned": None,
            "pretrained": original[self.specials],
            "reconstruct": source[self.specials],
        }[options.specials]

    def epoch(self, number: int) -> tuple[float, dict[str, float], dict[str, float]]:
        """Train for one epoch; the training loss, the scores on source dev and those on target dev."""
        model = self.learner.model
        loss = self.learner.epoch(
            self.inputs.train,
            order=self.streams.seed("order", number),
            dropout=self.streams.seed("dropout", number),
            loss_of=lambda batch: model(**batch).loss,
        )
        return loss, self.on_source(self.inputs.dev), self.on_target(self.target.dev, self.words)

    def test(self, test: TargetTest) -> dict[str, float]:
        """Scores on the target's test set. Its words get their rows of F^t from the anchors that dev's words had."""
        return self.on_target(test.data, self.stitched(test.vectors))

    def on_source(self, data: Encoded) -> dict[str, float]:
        return scores(data.labels, self.learner.predict(data), len(self.inputs.labels))

    def on_target(self, data: Encoded, words: Tensor) -> dict[str, float]:
        return scores(data.labels, self.predict_target(data, words), len(self.inputs.labels))

    def predict_target(self, data: Encoded, words: Tensor) -> np.ndarray:
        """Predict a target set with `words`, its rows of F^t, in place of F^s, the special tokens in front."""
        device, specials = self.learner.device, self.fixed_specials
        if specials is None:
            specials = self.learner.model.get_input_embeddings().weight.detach()[self.specials.to(device)]
        return self.learner.predict(data, table=torch.cat([specials.to(device), words.to(device)]))


def tables(
    original: Tensor, specials: Tensor, target: Target, options: StitchingOptions, anchor_seed: int
) -> tuple[Tensor, Callable[[np.ndarray], Tensor], int]:
    """F^s for the whole source vocabulary, F^t as a function of the vectors of target words, and the number of anchors.

    Special tokens exist on the source side only: their rows in F^s are the encoder's own unless the options
    reconstruct them. Rows without a direction (unused pieces, words with a zero vector) keep the original row, or take
    the mean of the anchors: there is nothing to measure cosines with.
    """
    centre, target_centre = torch.zeros(original.shape[1]), np.zeros_like(target.mean)
    if options.centre:
        centre, target_centre = original.mean(0), target.mean
    vectors = target.vectors - target_centre
    pairs = anchors.choose(target.pairs, options.anchors, anchor_seed)
    if options.merge_anchors:
        pieces, target_anchors = anchors.merge(pairs, vectors)
    else:
        pieces, target_anchors = pairs[:, 0], vectors[pairs[:, 1]]
    source_anchors = original[torch.from_numpy(np.ascontiguousarray(pieces))]
    weigh = weighting(options.weighting, tau=options.tau, exponent=options.exponent)
    k = len(pieces) if options.k == "all" else options.k
    norm = float(original.norm(dim=1).mean())

    source = stitch(original - centre, source_anchors - centre, source_anchors, k, weigh)
    if options.renorm:
        source = to_norm(source, norm)
    empty = original.norm(dim=1) < ZERO
    source[empty] = original[empty]
    if options.specials != "reconstruct":
        source[specials] = original[specials]

    def stitched(words: np.ndarray) -> Tensor:
        directions = torch.from_numpy(words - target_centre)
        table = stitch(directions, torch.from_numpy(target_anchors), source_anchors, k, weigh)
        table[torch.from_numpy(np.linalg.norm(words, axis=1) < ZERO)] = source_anchors.mean(0)
        return to_norm(table, norm) if options.renorm else table

    return source, stitched, len(pieces)
