"""The scores that every run with a classifier reports."""

from typing import Any

import numpy as np
from torch import Tensor

from seedwise.trainables.inputs.text import Encoded
from seedwise.trainables.method import Method
from seedwise.trainables.tasks.classification import scores
from seedwise.trainables.training.learner import Learner


class Classifier(Method):
    """A run whose inputs have a `source` language and `labels`; `learner` is its model, if it has a single one."""

    inputs: Any
    learner: Learner

    def reported(self, number: int, metrics: dict[str, float]) -> dict[str, float]:
        """The metrics that epoch `number` reports: histograms and `constants` come with the last epoch alone."""
        metrics = self.of_step(number, metrics)
        return metrics if number + 1 < self.steps else metrics | self.constants()

    def of_step(self, number: int, metrics: dict[str, float]) -> dict[str, float]:
        """The metrics without histograms, unless epoch `number` is the last."""
        last = number + 1 == self.steps
        return {name: value for name, value in metrics.items() if last or "/share_of_" not in name}

    def score_sets(self, split: str, sets: dict[str, Encoded]) -> dict[str, float]:
        """The metrics of a split, given its data by language."""
        metrics: dict[str, float] = {}
        for language, data in sets.items():
            metrics |= self.score_set(split, language, data)
        return metrics

    def score_set(self, split: str, language: str, data: Encoded, table: Tensor | None = None) -> dict[str, float]:
        """The metrics of one set; `table` as in `Learner.predict`."""
        return self.score(split, language, data.labels, self.learner.predict(data, table=table))

    def score(self, split: str, language: str, truth: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
        metrics = scores(truth, predicted, self.inputs.labels)
        return {f"{split}/{name}/{language}": value for name, value in metrics.items()}
