"""The baselines of stitching, as runs on the same inputs: a linear map, logistic regression on target labels, a
multilingual encoder without stitching, and the constant classifier."""

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor

from seedwise.trainables.inputs.text import Encoded
from seedwise.trainables.stitching import anchors, options
from seedwise.trainables.stitching.maps import fit
from seedwise.trainables.stitching.prepare import StitchingInputs, StitchingTests
from seedwise.trainables.stitching.reader import WordSet
from seedwise.trainables.stitching.tables import ZERO
from seedwise.trainables.streams import Streams
from seedwise.trainables.tasks.classifier import Classifier
from seedwise.trainables.training.encoder import Encoder, initialise, skeleton
from seedwise.trainables.training.learner import Learner

MAX_ITERATIONS = 1000  # of logistic regression; scikit-learn's 100 are too few for vectors of length 28


class Baseline(Classifier):
    """A run with `baseline: NAME` in its parameters; the others are those of `options_type`."""

    options_type: ClassVar[type]

    def __init__(self, inputs: StitchingInputs, params: dict, streams: Streams, device: Any):
        super().__init__(inputs, params, streams, device)
        self.options = self.options_type(**params)

    @classmethod
    def streams_used(cls, params: dict) -> tuple[str, ...]:
        return ()

    def score_words(self, split: str, language: str, words: WordSet) -> dict[str, float]:
        """The metrics of one set of a target language."""
        raise NotImplementedError

    def test_words(self, tests: StitchingTests) -> dict[str, float]:
        """The metrics of the targets' test sets, and how many of their words are unknown."""
        metrics: dict[str, float] = {}
        for language, test in tests.targets.items():
            metrics |= self.score_words("test", language, test)
            metrics[f"test/unknown_share/{language}"] = test.unknown_share
        return metrics


class FineTuned(Baseline):
    """An encoder with its own word table, fine-tuned on the source once: one model for all targets."""

    streams_used = staticmethod(options.streams_used)

    def attach(self, encoder: Encoder, train: Encoded) -> None:
        """Prepare to fine-tune an encoder."""
        self.steps, self.train = self.options.epochs, train
        model = skeleton(encoder, len(self.inputs.labels))
        initialise(model, encoder, self.streams.seed("head"))
        self.learner = Learner(model, self.options, len(train), self.device)

    def score_dev(self) -> dict[str, float]:
        raise NotImplementedError

    def step(self, number: int) -> dict[str, float]:
        """Train for one epoch."""
        loss = self.learner.epoch(
            self.train,
            order=self.streams.seed("order", number),
            dropout=self.streams.seed("dropout", number),
            loss_of=lambda batch: self.learner.model(**batch).loss,
        )
        return self.reported(number, {**self.score_dev(), f"train/loss/{self.inputs.source}": loss})

    def save(self, folder: Path) -> None:
        self.learner.save(folder)

    def load(self, folder: Path) -> None:
        self.learner.load(folder)


class LeastSquares(FineTuned):
    """LS: the source encoder as it is, with its table replaced by E^t W to predict the target (MoSECroT, section 4).

    W is fitted on the pretrained vectors of the pair's anchors; the special tokens have their fine-tuned rows.
    """

    options_type = options.LeastSquaresOptions

    def __init__(self, inputs: StitchingInputs, params: dict, streams: Streams, device: Any):
        super().__init__(inputs, params, streams, device)
        self.attach(inputs.encoder, inputs.train)
        original = self.learner.model.get_input_embeddings().weight.detach().cpu()
        self.specials = torch.tensor(inputs.specials, device=self.learner.device)
        self.maps, self.anchors = {}, {}
        for language, target in inputs.targets.items():
            seed = streams.seed("anchors")
            chosen = anchors.choose(target.lexicon, self.options, seed, target.vectors, original)
            if chosen is None:
                raise ValueError(f"{language}: the options leave no pair of the lexicon as an anchor")
            self.maps[language] = fit(self.options.map, chosen.target, chosen.source.numpy(), self.options.strength)
            self.anchors[language] = float(len(chosen))

    def table(self, language: str, vectors: np.ndarray) -> Tensor:
        """The target's table: the special tokens as they are now, then E^t W."""
        words = torch.from_numpy((vectors @ self.maps[language]).astype(np.float32)).to(self.learner.device)
        return torch.cat([self.learner.model.get_input_embeddings().weight.detach()[self.specials], words])

    def score_words(self, split: str, language: str, words: WordSet) -> dict[str, float]:
        return self.score_set(split, language, words.data, self.table(language, words.vectors))

    def score_dev(self) -> dict[str, float]:
        metrics = self.score_set("dev", self.inputs.source, self.inputs.dev)
        for language, target in self.inputs.targets.items():
            metrics |= self.score_words("dev", language, target.dev_words)
        return metrics

    def constants(self) -> dict[str, float]:
        counts = {f"train/anchors/{language}": count for language, count in self.anchors.items()}
        return self.inputs.unknown_share_metrics() | counts

    def test(self, tests: StitchingTests) -> dict[str, float]:
        metrics = self.score_set("test", self.inputs.source, tests.source)
        metrics[f"test/unknown_share/{self.inputs.source}"] = tests.unknown_share
        return metrics | self.test_words(tests)


class ZeroShot(FineTuned):
    options_type = options.ZeroShotOptions

    def __init__(self, inputs: StitchingInputs, params: dict, streams: Streams, device: Any):
        super().__init__(inputs, params, streams, device)
        self.attach(inputs.multilingual.encoder, inputs.multilingual.train)

    def score_dev(self) -> dict[str, float]:
        return self.score_sets("dev", self.inputs.multilingual.dev)

    def test(self, tests: StitchingTests) -> dict[str, float]:
        return self.score_sets("test", tests.multilingual)


class Regression(Baseline):
    """LR: it is trained on target labels, so it is not zero-shot and has no score on the source."""

    options_type = options.RegressionOptions

    def step(self, number: int) -> dict[str, float]:
        from sklearn.linear_model import LogisticRegression  # here, because no other run of a worker needs it

        self.models, metrics = {}, {}
        for language, train in self.inputs.labelled.items():
            model, dev = LogisticRegression(C=self.options.c, max_iter=MAX_ITERATIONS), self.inputs.targets[language]
            self.models[language] = model.fit(self.means(train.data, train.vectors), train.data.labels)
            metrics |= self.score_words("dev", language, dev.dev_words)
            metrics[f"train/unknown_share/{language}"] = train.unknown_share
            metrics[f"dev/unknown_share/{language}"] = dev.unknown_share
        return metrics

    def test(self, tests: StitchingTests) -> dict[str, float]:
        return self.test_words(tests)

    def score_words(self, split: str, language: str, words: WordSet) -> dict[str, float]:
        predicted = self.models[language].predict(self.means(words.data, words.vectors))
        return self.score(split, language, words.data.labels, predicted)

    def means(self, data: Encoded, vectors: np.ndarray) -> np.ndarray:
        """The mean vector of each sentence's known words; zeros if there is none."""
        if self.options.normalise:
            vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), ZERO)
        known = data.ids >= len(self.inputs.specials)  # unknown words and padding are special tokens
        count = known.sum(1)
        rows, ends = data.ids[known] - len(self.inputs.specials), np.concatenate([[0], np.cumsum(count)])
        sums = csr_array((np.ones(len(rows)), rows, ends), shape=(len(data), len(vectors))) @ vectors
        return sums / np.maximum(count, 1)[:, None]


class Constant(Baseline):
    options_type = options.ConstantOptions

    def step(self, number: int) -> dict[str, float]:
        targets = {language: target.dev for language, target in self.inputs.targets.items()}
        return self.score_sets("dev", {self.inputs.source: self.inputs.dev} | targets)

    def test(self, tests: StitchingTests) -> dict[str, float]:
        targets = {language: test.data for language, test in tests.targets.items()}
        return self.score_sets("test", {self.inputs.source: tests.source} | targets)

    def score_set(self, split: str, language: str, data: Encoded) -> dict[str, float]:
        predicted = np.bincount(self.inputs.train.labels).argmax()
        return self.score(split, language, data.labels, np.full(len(data), predicted))


BASELINES: dict[str, type[Baseline]] = {
    "ls": LeastSquares,
    "lr": Regression,
    "zero_shot": ZeroShot,
    "constant": Constant,
}
