"""The runs of a landscape: training models from one stored initialisation, and evaluating points between them."""

import math
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from seedwise.imports import import_path
from seedwise.trainables.landscape.jobs import AROUND, INITIAL, TRAIN, Job
from seedwise.trainables.landscape.subjects import LandscapeInputs
from seedwise.trainables.method import Candidates, Method
from seedwise.trainables.methods import spec_of
from seedwise.trainables.request import Request
from seedwise.trainables.streams import DIRECTIONS, Streams


def _functions(method: str) -> Any:
    """The module with a method's `subject` and `labelled`."""
    return import_module(f"seedwise.trainables.{method}.landscape")


class Landscape(Method):
    """A run of a landscape: either `Trained` or `Points`."""

    @classmethod
    def class_for(cls, params: dict) -> type[Method]:
        return Trained if params["landscape"] == TRAIN else Points

    @classmethod
    def prepare(cls, request: Request, candidates: Candidates) -> LandscapeInputs:
        spec, options = spec_of(request.method), request.landscape
        own = import_path(spec.trainable, "method").prepare(request, candidates)
        labelled = _functions(request.method).labelled(request) if options.labels else {}
        return LandscapeInputs(request.method, own, request.task.targets, labelled, options.match)

    def __init__(self, inputs: LandscapeInputs, params: dict, streams: Streams, device: Any):
        super().__init__(inputs, params, streams, device)
        self.job, own = Job.split(params)
        self.subject = _functions(inputs.method).subject(inputs, self.job.on, self.job.target, own, streams, device)


class Trained(Landscape):
    """Trains one of the paper's three models, or keeps the initial model. The model's parameters are the product."""

    @property
    def steps(self) -> int:
        return 1 if self.job.on == INITIAL else self.subject.run.steps

    def receive(self, products: list[dict[str, np.ndarray]]) -> None:
        """Start from the stored initialisation, head included."""
        for initial in products:
            self.subject.begin_as(initial)

    def step(self, number: int) -> dict[str, float]:
        return self.subject.scores() if self.job.on == INITIAL else self.subject.step(number)

    def product(self) -> dict[str, np.ndarray]:
        return self.subject.parameters.named()

    def save(self, folder: Path) -> None:
        self.subject.run.save(folder)

    def load(self, folder: Path) -> None:
        self.subject.run.load(folder)


class Points(Landscape):
    """Evaluates a point between trained models at each step: scores and losses on all dev sets the model can read."""

    independent = True

    @property
    def steps(self) -> int:
        return len(self.job.points())

    def receive(self, products: list[dict[str, np.ndarray]]) -> None:
        """Receive the models that `Job.models` names. Parts that do not move keep the first model's parameters."""
        parameters = self.subject.parameters
        self.vectors = [parameters.vector(product) for product in products]
        if self.job.landscape == AROUND:
            seed = self.streams.seed(DIRECTIONS, self.job.direction)
            self.vectors.append(parameters.direction(self.vectors[0], seed))
        parameters.write([1.0], self.vectors[:1])

    def step(self, number: int) -> dict[str, float]:
        point = self.job.points()[number]
        self.subject.parameters.write(self.job.weights(point), self.vectors, self.job.part)
        scores = {name: value for name, value in self.subject.scores().items() if math.isfinite(value)}
        return scores | {f"point/{axis}": at for axis, at in zip("ab", point, strict=False)}
