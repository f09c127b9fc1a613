"""The 441 points of a plane, written in place, against loading each interpolated state dict anew.

`python -m benchmarks.landscape`, a minute on two cores with the embedded encoder; `--model FOLDER` takes another
encoder (six minutes at 30 million parameters).

The peer is the obvious way: mix three state dicts by name, load the result by `from_pretrained`, batch and evaluate.
Ours writes one vector that the model's parameters are views of, and keeps the batches. Both evaluate the same sentences
with the same model, and their logits are compared at every point. Reported is the time per point without the evaluation
itself, which is measured at every point and subtracted; the peer's evaluation includes making its learner and batches.
"""

import argparse
import copy
import os
import time

os.environ["HF_HUB_OFFLINE"] = "1"  # nothing is downloaded; set before transformers is imported

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel, logging

from seedwise.trainables.inputs.text import Encoded, encode
from seedwise.trainables.landscape.jobs import EVEN, PLANE, Job
from seedwise.trainables.landscape.mixing import Parameters
from seedwise.trainables.training.encoder import initialise, load_encoder, skeleton
from seedwise.trainables.training.learner import Learner
from seedwise.trainables.training.options import TrainingOptions

GOAL = 5.0
CLASSES = 6
MOVED = 0.01  # standard deviation of the random change that stands for training
State = dict[str, Tensor]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="world:multilingual-encoder", help="a folder in the hub's format")
    parser.add_argument("--points", type=int, default=441, help="so many of the plane's 441 (default: all)")
    parser.add_argument("--sentences", type=int, default=32, help="that are evaluated at each point (default: 32)")
    arguments = parser.parse_args()
    logging.set_verbosity_error()
    encoder, _ = load_encoder(arguments.model)
    first = skeleton(encoder, CLASSES)
    initialise(first, encoder, seed=0)
    models = [moved(first, seed) for seed in range(3)]
    data = made_up(arguments.sentences, encoder.config["vocab_size"])
    job = Job(PLANE, "", "x", "all")
    points = [(x, y) for y in EVEN for x in EVEN][: arguments.points]
    weights = [job.weights(point) for point in points]
    size = sum(parameter.numel() for parameter in first.parameters())
    print(f"{len(points)} points, {size:,} parameters, {len(data)} sentences, {torch.get_num_threads()} threads")
    theirs = loaded_anew([model.state_dict() for model in models], first, weights, data)
    ours = in_place(models, first, weights, data)
    worst = max(
        float((theirs_logits - ours_logits).abs().max())
        for theirs_logits, ours_logits in zip(theirs[2], ours[2], strict=True)
    )
    print(f"logits differ by at most {worst:.1e}")
    if worst > 1e-3:
        raise SystemExit("the two do not evaluate the same models")
    beyond = {}
    for name, (whole, evaluation, _) in (("loaded anew", theirs), ("in place", ours)):
        beyond[name] = (whole - evaluation) / len(points)
        print(
            f"{name:12}  {1000 * whole / len(points):9.3f} ms per point, {1000 * beyond[name]:9.3f} beyond evaluation"
        )
    ratio = beyond["loaded anew"] / beyond["in place"]
    print(f"in place is {ratio:.1f} times as fast beyond the evaluation (goal: {GOAL:g})")


def moved(model: PreTrainedModel, seed: int) -> PreTrainedModel:
    """A model with changed parameters, as after training."""
    draw, other = torch.Generator().manual_seed(seed), copy.deepcopy(model)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=draw), alpha=MOVED)
    return other


def made_up(sentences: int, vocabulary: int) -> Encoded:
    """Sentences of 8 to 24 random tokens."""
    draw = np.random.default_rng(0)
    ids = [draw.integers(5, vocabulary, length).tolist() for length in draw.integers(8, 25, sentences)]
    return encode(ids, [0] * sentences, pad=0)


def learner_of(model: PreTrainedModel) -> Learner:
    return Learner(model, TrainingOptions(), 1, torch.device("cpu"))


def evaluated(learner: Learner, data: Encoded) -> Tensor:
    """Batches made, evaluated and dropped."""
    logits = []
    for _, batch in learner.batches(data):
        batch.pop("labels")
        logits.append(learner.logits(batch))
    return torch.cat(logits)


def loaded_anew(
    states: list[State], model: PreTrainedModel, weights: list[tuple], data: Encoded
) -> tuple[float, float, list[Tensor]]:
    """Seconds of all points, seconds of their evaluations alone, and the logits."""
    started, evaluation, outputs = time.perf_counter(), 0.0, []
    for mix in weights:
        mixed = {
            name: sum(weight * state[name] for weight, state in zip(mix, states, strict=True))
            if value.is_floating_point()
            else value
            for name, value in states[0].items()
        }
        anew = type(model).from_pretrained(None, config=model.config, state_dict=mixed)
        begun = time.perf_counter()
        outputs.append(evaluated(learner_of(anew), data))
        evaluation += time.perf_counter() - begun
    return time.perf_counter() - started, evaluation, outputs


def in_place(
    models: list[PreTrainedModel], model: PreTrainedModel, weights: list[tuple], data: Encoded
) -> tuple[float, float, list[Tensor]]:
    """The same, as `trainables/landscape` does it, including the work done once."""
    started, evaluation, outputs = time.perf_counter(), 0.0, []
    learner = learner_of(copy.deepcopy(model))
    parameters = Parameters(learner.model, set())
    vectors = [parameters.vector(dict(named(trained))) for trained in models]
    batches = [batch for _, batch in learner.batches(data)]
    for batch in batches:
        batch.pop("labels")
    for mix in weights:
        parameters.write(mix, vectors)
        begun = time.perf_counter()
        outputs.append(torch.cat([learner.logits(batch) for batch in batches]))
        evaluation += time.perf_counter() - begun
    return time.perf_counter() - started, evaluation, outputs


def named(model: PreTrainedModel) -> list[tuple[str, np.ndarray]]:
    return [(name, parameter.detach().numpy()) for name, parameter in model.named_parameters()]


if __name__ == "__main__":
    main()
