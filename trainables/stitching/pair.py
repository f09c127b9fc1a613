"""One language pair under stitching: the tables F^s and F^t, and the source model that is trained on the one and tested
with the other."""

import numpy as np
import torch
from torch import Tensor

from trainables.encoder import initialise, skeleton
from trainables.stitching import anchors
from trainables.stitching.options import StitchingOptions
from trainables.stitching.prepare import StitchingInputs, Target
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
        source, self.words, self.anchors = tables(original, self.specials, target, options, streams.seed("anchors"))
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
        dev, classes = self.inputs.dev, len(self.inputs.labels)
        on_source = scores(dev.labels, self.learner.predict(dev), classes)
        return loss, on_source, scores(self.target.dev.labels, self.predict_target(), classes)

    def predict_target(self) -> np.ndarray:
        """Predict the target's dev set with F^t in place of F^s, its special tokens in front."""
        device, specials = self.learner.device, self.fixed_specials
        if specials is None:
            specials = self.learner.model.get_input_embeddings().weight.detach()[self.specials.to(device)]
        return self.learner.predict(self.target.dev, table=torch.cat([specials.to(device), self.words.to(device)]))


def tables(
    original: Tensor, specials: Tensor, target: Target, options: StitchingOptions, anchor_seed: int
) -> tuple[Tensor, Tensor, int]:
    """F^s for the whole source vocabulary, F^t for the target words in use, and the number of anchors.

    Special tokens exist on the source side only: their rows in F^s are the encoder's own unless the options
    reconstruct them. Rows without a direction (unused pieces, words with a zero vector) keep the original row, or take
    the mean of the anchors: there is nothing to measure cosines with.
    """
    vectors, centre = target.vectors, torch.zeros(original.shape[1])
    if options.centre:
        vectors, centre = vectors - target.mean, original.mean(0)
    pairs = anchors.choose(target.pairs, options.anchors, anchor_seed)
    if options.merge_anchors:
        pieces, target_anchors = anchors.merge(pairs, vectors)
    else:
        pieces, target_anchors = pairs[:, 0], vectors[pairs[:, 1]]
    source_anchors = original[torch.from_numpy(np.ascontiguousarray(pieces))]
    words = torch.from_numpy(vectors[: target.used].copy())
    weigh = weighting(options.weighting, tau=options.tau, exponent=options.exponent)
    k = len(pieces) if options.k == "all" else options.k

    source = stitch(original - centre, source_anchors - centre, source_anchors, k, weigh)
    stitched = stitch(words, torch.from_numpy(target_anchors), source_anchors, k, weigh)
    stitched[torch.from_numpy(np.linalg.norm(target.vectors[: target.used], axis=1) < ZERO)] = source_anchors.mean(0)
    if options.renorm:
        norm = float(original.norm(dim=1).mean())
        source, stitched = to_norm(source, norm), to_norm(stitched, norm)
    empty = original.norm(dim=1) < ZERO
    source[empty] = original[empty]
    if options.specials != "reconstruct":
        source[specials] = original[specials]
    return source, stitched, len(pieces)
