"""What stitching is measured against, as runs over the same inputs: a linear map, logistic regression on labels of the
target, a multilingual encoder without any stitching, and the constant classifier."""

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor

from seedwise.trainables.inputs.text import Encoded
from seedwise.trainables.stitching import anchors
from seedwise.trainables.stitching.baseline_options import (
    ConstantOptions,
    LeastSquaresOptions,
    RegressionOptions,
    ZeroShotOptions,
)
from seedwise.trainables.stitching.maps import fit
from seedwise.trainables.stitching.prepare import StitchingInputs, StitchingTests
from seedwise.trainables.stitching.tables import ZERO
from seedwise.trainables.streams import Streams
from seedwise.trainables.tasks.classifier import Classifier
from seedwise.trainables.training.encoder import Encoder, initialise, skeleton
from seedwise.trainables.training.learner import Learner

ITERATIONS = 1000  # of logistic regression at most; scikit-learn's 100 are too few for vectors of length 28


class Baseline(Classifier):
    """A run that `baseline: NAME` in the parameters asks for; these are the others, `options_type`'s."""

    options_type: ClassVar[type]

    def __init__(self, inputs: StitchingInputs, params: dict, streams: Streams, device: Any):
        super().__init__(inputs, params, streams, device)
        self.options = self.options_type(**params)


class FineTuned(Baseline):
    """An encoder with its own word table, fine-tuned on the source once: one model for all targets."""

    encoder: Encoder
    train: Encoded

    @classmethod
    def streams_used(cls, params: dict) -> tuple[str, ...]:
        return ("head", "order", "dropout")

    def __init__(self, inputs: StitchingInputs, params: dict, streams: Streams, device: Any):
        super().__init__(inputs, params, streams, device)
        self.steps = self.options.epochs
        model = skeleton(self.encoder, len(inputs.labels))
        initialise(model, self.encoder, streams.seed("head"))
        self.learner = Learner(model, self.options, len(self.train), device)

    def on_dev(self) -> dict[str, float]:
        raise NotImplementedError

    def step(self, number: int) -> dict[str, float]:
        """Train for one epoch."""
        loss = self.learner.epoch(
            self.train,
            order=self.streams.seed("order", number),
            dropout=self.streams.seed("dropout", number),
            loss_of=lambda batch: self.learner.model(**batch).loss,
        )
        return self.reported(number, {**self.on_dev(), f"train/loss/{self.inputs.source}": loss})

    def save(self, folder: Path) -> None:
        self.learner.save(folder)

    def load(self, folder: Path) -> None:
        self.learner.load(folder)


class LeastSquares(FineTuned):
    """LS: the source encoder as it is, its table replaced by E^t W to predict the target (MoSECroT, section 4).

    W is fitted on the pre-trained vectors of the pair's anchors; the special tokens have their fine-tuned rows.
    """

    options_type = LeastSquaresOptions

    @classmethod
    def streams_used(cls, params: dict) -> tuple[str, ...]:
        """Anchors are drawn only where not all of them are used."""
        return (*super().streams_used(params), *(["anchors"] if params["anchors"] != "all" else []))

    def __init__(self, inputs: StitchingInputs, params: dict, streams: Streams, device: Any):
        self.encoder, self.train = inputs.encoder, inputs.train
        super().__init__(inputs, params, streams, device)
        original = self.learner.model.get_input_embeddings().weight.detach().cpu()
        self.maps, self.anchors = {}, {}
        for language, target in inputs.targets.items():
            seed = streams.seed("anchors")
            chosen = anchors.choose(target.candidates, self.options, seed, target.vectors, original)
            if chosen is None:
                raise ValueError(f"{language}: the options leave no pair of the lexicon as an anchor")
            self.maps[language] = fit(self.options.map, chosen.target, chosen.source.numpy(), self.options.strength)
            self.anchors[language] = len(chosen)

    def table(self, language: str, vectors: np.ndarray) -> Tensor:
        """The target's table: the special tokens as they are now, then E^t W."""
        device = self.learner.device
        specials = torch.from_numpy(self.inputs.specials).to(device)
        words = torch.from_numpy((vectors @ self.maps[language]).astype(np.float32)).to(device)
        return torch.cat([self.learner.model.get_input_embeddings().weight.detach()[specials], words])

    def on_dev(self) -> dict[str, float]:
        metrics = self.predicted("dev", self.inputs.source, self.inputs.dev)
        for language, target in self.inputs.targets.items():
            table = self.table(language, target.vectors[: target.used])
            metrics |= self.predicted("dev", language, target.dev, table)
        return metrics

    def constants(self) -> dict[str, float]:
        shares = self.inputs.unknown_shares
        found = {f"{split}/unknown_share/{self.inputs.source}": share for split, share in shares.items()}
        for language, target in self.inputs.targets.items():
            found[f"dev/unknown_share/{language}"] = target.unknown_share
            found[f"train/anchors/{language}"] = float(self.anchors[language])
        return found

    def test(self, tests: StitchingTests) -> dict[str, float]:
        metrics = self.predicted("test", self.inputs.source, tests.source)
        metrics[f"test/unknown_share/{self.inputs.source}"] = tests.unknown_share
        for language, test in tests.targets.items():
            metrics |= self.predicted("test", language, test.data, self.table(language, test.vectors))
            metrics[f"test/unknown_share/{language}"] = test.unknown_share
        return metrics


class ZeroShot(FineTuned):
    """A multilingual encoder (the paper's mBERT), fine-tuned on the source and applied to the targets as it is."""

    options_type = ZeroShotOptions

    def __init__(self, inputs: StitchingInputs, params: dict, streams: Streams, device: Any):
        self.encoder, self.train = inputs.multilingual.encoder, inputs.multilingual.train
        super().__init__(inputs, params, streams, device)

    def on_dev(self) -> dict[str, float]:
        return self.on_all("dev", self.inputs.multilingual.dev)

    def test(self, tests: StitchingTests) -> dict[str, float]:
        return self.on_all("test", tests.multilingual)


class Regression(Baseline):
    """LR: logistic regression on the mean of a sentence's word vectors, trained on each target's own labels.

    So it is not zero-shot, it knows nothing of the source, and it has no score there. Nothing in it is random.
    """

    options_type = RegressionOptions

    @classmethod
    def streams_used(cls, params: dict) -> tuple[str, ...]:
        return ()

    def step(self, number: int) -> dict[str, float]:
        from sklearn.linear_model import LogisticRegression  # here, because no other run of a worker needs it

        self.models, metrics = {}, {}
        for language, labelled in self.inputs.labelled.items():
            model = LogisticRegression(C=self.options.c, max_iter=ITERATIONS)
            self.models[language] = model.fit(self.means(labelled.data, labelled.vectors), labelled.data.labels)
            target = self.inputs.targets[language]
            metrics |= self.predicted("dev", language, target.dev, target.vectors[: target.used])
            metrics[f"train/unknown_share/{language}"] = labelled.unknown_share
            metrics[f"dev/unknown_share/{language}"] = target.unknown_share
        return metrics

    def test(self, tests: StitchingTests) -> dict[str, float]:
        metrics = {}
        for language, test in tests.targets.items():
            metrics |= self.predicted("test", language, test.data, test.vectors)
            metrics[f"test/unknown_share/{language}"] = test.unknown_share
        return metrics

    def predicted(self, split: str, language: str, data: Encoded, vectors: np.ndarray) -> dict[str, float]:
        return self.scores(split, language, data.labels, self.models[language].predict(self.means(data, vectors)))

    def means(self, data: Encoded, vectors: np.ndarray) -> np.ndarray:
        """Of each sentence, the mean vector of its known words; zeros where there is none."""
        if self.options.normalise:
            vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), ZERO)
        known = data.ids >= len(self.inputs.specials)  # unknown words and padding are special tokens
        count = known.sum(1)
        rows, ends = data.ids[known] - len(self.inputs.specials), np.concatenate([[0], np.cumsum(count)])
        sums = csr_array((np.ones(len(rows)), rows, ends), shape=(len(data), len(vectors))) @ vectors
        return sums / np.maximum(count, 1)[:, None]


class Constant(Baseline):
    """The most frequent class of the source's training set, for every example: the level of no knowledge."""

    options_type = ConstantOptions

    @classmethod
    def streams_used(cls, params: dict) -> tuple[str, ...]:
        return ()

    def step(self, number: int) -> dict[str, float]:
        inputs = self.inputs
        dev = {inputs.source: inputs.dev} | {language: target.dev for language, target in inputs.targets.items()}
        return self.on_all("dev", dev)

    def test(self, tests: StitchingTests) -> dict[str, float]:
        targets = {language: test.data for language, test in tests.targets.items()}
        return self.on_all("test", {self.inputs.source: tests.source} | targets)

    def predicted(self, split: str, language: str, data: Encoded) -> dict[str, float]:
        most = np.bincount(self.inputs.train.labels).argmax()
        return self.scores(split, language, data.labels, np.full(len(data), most))


BASELINES: dict[str, type[Baseline]] = {
    "ls": LeastSquares,
    "lr": Regression,
    "zero_shot": ZeroShot,
    "constant": Constant,
}
