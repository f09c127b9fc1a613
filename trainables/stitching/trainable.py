"""A stitching run: one source model per target language, fine-tuned on F^s and scored with F^t after every epoch."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from seedwise.trainables.inputs.cache import content_hash
from seedwise.trainables.request import Request
from seedwise.trainables.stitching.baselines import BASELINES
from seedwise.trainables.stitching.export import export_pair
from seedwise.trainables.stitching.options import StitchingOptions, streams_used
from seedwise.trainables.stitching.pair import Pair
from seedwise.trainables.stitching.prepare import StitchingInputs, StitchingTests, prepare, prepare_test
from seedwise.trainables.stitching.reader import Reader
from seedwise.trainables.streams import Streams
from seedwise.trainables.tasks.classifier import Classifier
from seedwise.trainables.training.options import TRAINING


class Stitching(Classifier):
    """MoSECroT. All pairs start from the same head and see the source data in the same order."""

    baselines = BASELINES
    prepare = staticmethod(prepare)
    prepare_test = staticmethod(prepare_test)
    streams_used = staticmethod(streams_used)

    def __init__(self, inputs: StitchingInputs, params: dict, streams: Streams, device: Any):
        super().__init__(inputs, params, streams, device)
        self.options = options = StitchingOptions(**params)
        self.steps = options.epochs
        self.pairs = {
            language: Pair(inputs, target, options, streams, device) for language, target in inputs.targets.items()
        }

    def step(self, number: int) -> dict[str, float]:
        """Train one epoch and score dev. The source gets mean scores over the models of all pairs, and each model's."""
        metrics, losses, source_scores = {}, [], {}
        for language, pair in self.pairs.items():
            loss, source_scores[language], target_scores = pair.epoch(number)
            losses.append(loss)
            metrics |= {f"dev/{name}/{language}": value for name, value in target_scores.items()}
        metrics |= self.source_metrics("dev", source_scores)
        metrics[f"train/loss/{self.inputs.source}"] = float(np.mean(losses))
        return self.reported(number, metrics)

    def constants(self) -> dict[str, float]:
        """Shares of unknown words, numbers of anchors, and shares of table rows that needed a special rule."""
        metrics = self.inputs.unknown_share_metrics()
        for language, pair in self.pairs.items():
            metrics |= {f"train/{name}/{language}": value for name, value in pair.metrics().items()}
        return metrics

    def fingerprint(self, tests: StitchingTests | None) -> str:
        """A hash of tables, training options and seeds: equal hashes mean equal scores, whatever the other options."""
        parts: list = [json.dumps([getattr(self.options, name) for name in TRAINING]), self.options.specials]
        parts += [str(self.streams.seed(stream)) for stream in ("head", "order", "dropout")]
        for language, pair in self.pairs.items():
            words = [pair.words]
            if tests is not None and language in tests.targets:
                words.append(pair.tables.target(tests.targets[language].vectors)[0])
            parts += [language, pair.tables.source.numpy(), *(table.numpy() for table in words)]
        return content_hash(*parts)

    def test(self, tests: StitchingTests) -> dict[str, float]:
        """The same metrics as on dev, for the test sets of the source and the targets; pivots have no test sets."""
        metrics, source_scores = {f"test/unknown_share/{self.inputs.source}": tests.unknown_share}, {}
        for language, pair in self.pairs.items():
            test = tests.targets.get(language)
            source_scores[language], target_scores = pair.test(tests.source, test)
            metrics |= {f"test/{name}/{language}": value for name, value in target_scores.items()}
            metrics |= {f"test/unknown_share/{language}": test.unknown_share} if test else {}
        return metrics | self.source_metrics("test", source_scores)

    def source_metrics(self, split: str, by_pair: dict[str, dict[str, float]]) -> dict[str, float]:
        """The means of the pairs' source scores and, if there are several pairs, the scores of each pair."""
        source, metrics = self.inputs.source, {}
        for name in next(iter(by_pair.values())):
            values = {language: scores[name] for language, scores in by_pair.items()}
            metrics[f"{split}/{name}/{source}"] = float(np.mean([*values.values()]))
            if len(values) > 1 and not name.startswith("share_of_"):
                metrics |= {f"{split}/{name}/{source}:{language}": value for language, value in values.items()}
        return metrics

    def export(self, request: Request, folder: Path) -> list[Path]:
        """One Hugging Face folder per target language: the stitched model and its word-level tokenizer."""
        reader, targets = Reader(request), request.task.targets
        for language in targets:
            export_pair(self.pairs[language], reader, language, folder / language)
        return [folder / language for language in targets]

    def save(self, folder: Path) -> None:
        for language, pair in self.pairs.items():
            (folder / language).mkdir()
            pair.learner.save(folder / language)

    def load(self, folder: Path) -> None:
        for language, pair in self.pairs.items():
            pair.learner.load(folder / language)
