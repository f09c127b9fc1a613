"""The baselines of stitching, which run on the same inputs: a linear map, logistic regression on target labels, a
multilingual encoder without stitching, and the constant classifier."""

import contextlib
import json
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor

from seedwise.trainables.inputs.cache import content_hash
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
from seedwise.trainables.training.options import TRAINING

MAX_ITERATIONS = 1000  # of logistic regression; scikit-learn's 100 are too few for vectors of length 28


class Baseline(Classifier):
    """A run with `baseline: NAME` in its parameters. The other parameters are the fields of `options_type`."""

    options_type: ClassVar[type]

    def __init__(self, inputs: StitchingInputs, params: dict, streams: Streams, device: Any):
        super().__init__(inputs, params, streams, device)
        self.options = self.options_type(**params)

    @classmethod
    def streams_used(cls, params: dict) -> tuple[str, ...]:
        return ()


class FineTuned(Baseline):
    """An encoder with its own word table, fine-tuned once on the source, so all targets share a model."""

    streams_used = staticmethod(options.streams_used)

    def attach(self, encoder: Encoder, train: Encoded) -> None:
        """Prepare the fine-tuning of an encoder on `train`."""
        self.steps, self.train = self.options.epochs, train
        model = skeleton(encoder, len(self.inputs.labels))
        initialise(model, encoder, self.streams.seed("head"))
        self.learner = Learner(model, self.options, len(train), self.device)

    def train_epoch(self, number: int) -> float:
        """Train for one epoch. Returns the mean loss."""
        return self.learner.epoch(
            self.train,
            order=self.streams.seed("order", number),
            dropout=self.streams.seed("dropout", number),
            loss_of=lambda batch: self.learner.model(**batch).loss,
        )

    def save(self, folder: Path) -> None:
        self.learner.save(folder)

    def load(self, folder: Path) -> None:
        self.learner.load(folder)


class Maps:
    """Linear maps from each target's vectors to the source's word table, and the numbers of anchors behind the maps."""

    def __init__(
        self, inputs: StitchingInputs, choices: options.LeastSquaresOptions, streams: Streams, original: Tensor
    ):
        self.maps, self.anchors = {}, {}
        for language, target in inputs.targets.items():
            seed = streams.seed("anchors")
            chosen = anchors.choose(target.lexicon, choices, seed, target.vectors, original)
            if chosen is None:
                raise ValueError(f"{language}: the options leave no pair of the lexicon as an anchor")
            self.maps[language] = fit(choices.map, chosen.target, chosen.source.numpy(), choices.strength)
            self.anchors[language] = float(len(chosen))

    def words(self, language: str, vectors: np.ndarray) -> Tensor:
        """The product E^t W for words with these vectors."""
        return torch.from_numpy((vectors @ self.maps[language]).astype(np.float32))


class LeastSquares(FineTuned):
    """LS: a fine-tuned source encoder whose table is replaced by E^t W to predict the target (MoSECroT, section 4).

    W is fitted on the pretrained vectors of the pair's anchors; special tokens have their fine-tuned rows. The source
    model does not depend on W. So the run that trains it also scores the targets with the maps of its siblings, the
    configurations that differ only in their maps.
    """

    options_type = options.LeastSquaresOptions

    def __init__(self, inputs: StitchingInputs, params: dict, streams: Streams, device: Any):
        super().__init__(inputs, params, streams, device)
        self.attach(inputs.encoder, inputs.train)
        self.specials = torch.tensor(inputs.specials, device=self.learner.device)
        self.maps = self.maps_of(self.options)
        self.siblings: dict[str, Maps] | None = None  # by fingerprint; fitted before the first step
        self.metrics: dict[str, dict[str, float]] = {}  # of the last step, by fingerprint

    def maps_of(self, choices: options.LeastSquaresOptions) -> Maps:
        """Fit the maps of a configuration. Call this before training, while the word table is pretrained."""
        original = self.learner.model.get_input_embeddings().weight.detach().cpu()
        return Maps(self.inputs, choices, self.streams, original)

    def fit_siblings(self) -> None:
        """Fit the maps of all siblings. Only the run that trains calls this."""
        if self.siblings is not None:
            return
        self.siblings, own = {}, self.fingerprint(None)
        for choices in self.inputs.least_squares:
            other = self.fingerprint_of(choices)
            if other != own and other.partition("/")[0] == own.partition("/")[0]:
                with contextlib.suppress(ValueError):  # a sibling without anchors fails in its own run
                    self.siblings[other] = self.maps_of(choices)
        self.metrics = {other: {} for other in self.siblings}

    def fingerprint_of(self, choices: options.LeastSquaresOptions) -> str:
        """A hash of what determines the source model, then a hash of what determines its maps."""
        trained = json.dumps([getattr(choices, name) for name in TRAINING])
        seeds = [str(self.streams.seed(stream)) for stream in ("head", "order", "dropout")]
        scored = json.dumps([choices.map, choices.strength, *(getattr(choices, name) for name in options.ANCHORS)])
        return f"{content_hash('ls', trained, *seeds)}/{content_hash(scored, str(self.streams.seed('anchors')))}"

    def fingerprint(self, tests: StitchingTests | None) -> str:
        return self.fingerprint_of(self.options)

    def metrics_of_siblings(self) -> dict[str, dict[str, float]]:
        return self.metrics

    def step(self, number: int) -> dict[str, float]:
        self.fit_siblings()
        loss = self.train_epoch(number)
        common = self.score_set("dev", self.inputs.source, self.inputs.dev)
        common[f"train/loss/{self.inputs.source}"] = loss
        dev = {language: target.dev_words for language, target in self.inputs.targets.items()}
        for sibling, maps in self.siblings.items():
            self.metrics[sibling] = self.of_step(number, common | self.score_targets("dev", dev, maps))
        return self.reported(number, common | self.score_targets("dev", dev, self.maps))

    def load(self, folder: Path) -> None:
        self.fit_siblings()
        super().load(folder)

    def table(self, language: str, vectors: np.ndarray, maps: Maps | None = None) -> Tensor:
        """The target's table: the current rows of the special tokens, then E^t W."""
        words = (maps or self.maps).words(language, vectors).to(self.learner.device)
        return torch.cat([self.learner.model.get_input_embeddings().weight.detach()[self.specials], words])

    def score_targets(self, split: str, sets: dict[str, WordSet], maps: Maps) -> dict[str, float]:
        """The metrics of one set of each target."""
        metrics: dict[str, float] = {}
        for language, words in sets.items():
            metrics |= self.score_set(split, language, words.data, self.table(language, words.vectors, maps))
        return metrics

    def constants(self) -> dict[str, float]:
        counts = {f"train/anchors/{language}": count for language, count in self.maps.anchors.items()}
        return self.inputs.unknown_share_metrics() | counts

    def test(self, tests: StitchingTests) -> dict[str, float]:
        common = self.score_set("test", self.inputs.source, tests.source)
        common[f"test/unknown_share/{self.inputs.source}"] = tests.unknown_share
        common |= {f"test/unknown_share/{language}": test.unknown_share for language, test in tests.targets.items()}
        for sibling, maps in (self.siblings or {}).items():
            self.metrics[sibling] |= common | self.score_targets("test", tests.targets, maps)
        return common | self.score_targets("test", tests.targets, self.maps)


class ZeroShot(FineTuned):
    options_type = options.ZeroShotOptions

    def __init__(self, inputs: StitchingInputs, params: dict, streams: Streams, device: Any):
        super().__init__(inputs, params, streams, device)
        self.attach(inputs.multilingual.encoder, inputs.multilingual.train)

    def step(self, number: int) -> dict[str, float]:
        loss = {f"train/loss/{self.inputs.source}": self.train_epoch(number)}
        return self.reported(number, self.score_sets("dev", self.inputs.multilingual.dev) | loss)

    def test(self, tests: StitchingTests) -> dict[str, float]:
        return self.score_sets("test", tests.multilingual)


class Regression(Baseline):
    """LR: logistic regression on target labels. It is not zero-shot, and has no score on the source."""

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
        metrics: dict[str, float] = {}
        for language, test in tests.targets.items():
            metrics |= self.score_words("test", language, test)
            metrics[f"test/unknown_share/{language}"] = test.unknown_share
        return metrics

    def score_words(self, split: str, language: str, words: WordSet) -> dict[str, float]:
        """The metrics of one set of a target language."""
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
