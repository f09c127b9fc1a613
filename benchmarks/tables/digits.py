"""The table of real training runs that the racing benchmark replays: 240 configurations x 48 seeds, made once.

    python -m benchmarks.tables.digits       writes digits.npz beside this file, in under ten minutes on one core

A network with one hidden layer learns scikit-learn's digits from 100 images, so the seed matters as much as the choice
among good configurations. A seed fixes which 100 of the 900 training images there are, their order, the initialisation
and the dropout masks, by streams of its own for each: the same seed is the same draw for every configuration, as far as
their shapes allow. The score is the accuracy in % on the 897 images that no seed trains on. Nothing is left out: a
network that diverged, or whose units died, has the accuracy of chance.
"""

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import optuna

CONFIGURATIONS, SEEDS = 240, 48
POOL, SAMPLE = 900, 100  # images that may be trained on, and how many of them a seed shows
COLLAPSED = 15.0  # accuracy in % below which a network has learnt nothing: chance is 10
FILE = Path(__file__).with_suffix(".npz")
ACTIVATIONS = {
    "relu": (lambda x: np.maximum(x, 0), lambda h: (h > 0).astype(np.float32)),
    "tanh": (np.tanh, lambda h: 1 - h * h),
}


def space(trial: Any) -> dict:
    """What is searched: momentum belongs to SGD alone, and each optimiser has good learning rates of its own."""
    params = {
        "optimizer": trial.suggest_categorical("optimizer", ["sgd", "adam"]),
        "rate": trial.suggest_float("rate", 2e-3, 0.5, log=True),
        "hidden": trial.suggest_int("hidden", 12, 128, log=True),
        "batch": trial.suggest_int("batch", 4, 32, log=True),
        "epochs": trial.suggest_int("epochs", 8, 30),
        "decay": trial.suggest_float("decay", 1e-5, 2e-2, log=True),
        "dropout": trial.suggest_float("dropout", 0.0, 0.6),
        "activation": trial.suggest_categorical("activation", ["relu", "tanh"]),
    }
    if params["optimizer"] == "sgd":
        params["momentum"] = trial.suggest_float("momentum", 0.0, 0.95)
    return params


def configurations(count: int = CONFIGURATIONS) -> list[dict]:
    """Drawn at random from the space, always the same ones."""
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    return [space(study.ask()) for _ in range(count)]


def train(params: dict, seed: int, images: np.ndarray, labels: np.ndarray) -> float:
    """One run: accuracy in % on the images from POOL on."""
    choice, order, start, masks = (np.random.default_rng([seed, stream]) for stream in range(4))
    shown = choice.permutation(POOL)[:SAMPLE]
    x, y = images[shown], np.eye(10, dtype=np.float32)[labels[shown]]
    hidden, batch, keep = params["hidden"], params["batch"], 1 - params["dropout"]
    activate, slope = ACTIVATIONS[params["activation"]]
    weights = [
        start.standard_normal((64, hidden), dtype=np.float32) * (2 / 64) ** 0.5,
        np.zeros(hidden, np.float32),
        start.standard_normal((hidden, 10), dtype=np.float32) * (1 / hidden) ** 0.5,
        np.zeros(10, np.float32),
    ]
    first = [np.zeros_like(weight) for weight in weights]
    second = [np.zeros_like(weight) for weight in weights]
    update, step = (_adam if params["optimizer"] == "adam" else _sgd), 0
    for _ in range(params["epochs"]):
        rows = order.permutation(SAMPLE)
        for offset in range(0, SAMPLE, batch):
            part = rows[offset : offset + batch]
            mask = (masks.random((len(part), hidden), dtype=np.float32) < keep) / np.float32(keep)
            inner = activate(x[part] @ weights[0] + weights[1])
            dropped = inner * mask
            error = (_softmax(dropped @ weights[2] + weights[3]) - y[part]) / len(part)
            back = (error @ weights[2].T) * mask * slope(inner)
            gradients = [x[part].T @ back, back.sum(0), dropped.T @ error, error.sum(0)]
            gradients = [g + params["decay"] * w for g, w in zip(gradients, weights, strict=True)]
            step += 1
            update(weights, gradients, first, second, step, params)
    logits = np.nan_to_num(activate(images[POOL:] @ weights[0] + weights[1]) @ weights[2] + weights[3])
    return 100 * float((logits.argmax(1) == labels[POOL:]).mean())


def _softmax(logits: np.ndarray) -> np.ndarray:
    grown = np.exp(logits - logits.max(1, keepdims=True))
    return grown / grown.sum(1, keepdims=True)


def _sgd(weights: list, gradients: list, first: list, second: list, step: int, params: dict) -> None:
    for weight, gradient, speed in zip(weights, gradients, first, strict=True):
        speed *= np.float32(params["momentum"])
        speed += gradient
        weight -= np.float32(params["rate"]) * speed


def _adam(weights: list, gradients: list, first: list, second: list, step: int, params: dict) -> None:
    rate = np.float32(params["rate"] * (1 - 0.999**step) ** 0.5 / (1 - 0.9**step))
    for weight, gradient, mean, square in zip(weights, gradients, first, second, strict=True):
        mean += np.float32(0.1) * (gradient - mean)
        square += np.float32(0.001) * (gradient * gradient - square)
        weight -= rate * mean / (np.sqrt(square) + np.float32(1e-8))


def main() -> None:
    from sklearn.datasets import load_digits

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    digits = load_digits()
    shuffled = np.random.default_rng(0).permutation(len(digits.target))
    images, labels = (digits.data[shuffled] / 16).astype(np.float32), digits.target[shuffled]
    rows, start = configurations(), time.perf_counter()
    table = np.zeros((len(rows), SEEDS), np.float32)
    with np.errstate(all="ignore"):  # a diverging network overflows: that is its result
        for number, params in enumerate(rows):
            table[number] = [train(params, seed, images, labels) for seed in range(SEEDS)]
            if number % 20 == 19:
                print(f"{number + 1} of {len(rows)} configurations, {time.perf_counter() - start:.0f} s", flush=True)
    np.savez_compressed(FILE, scores=table, params=np.array(json.dumps(rows)))
    print(f"{FILE.name}: {FILE.stat().st_size / 1000:.0f} kB, {(table < COLLAPSED).mean():.1%} of the runs collapsed")


if __name__ == "__main__":
    main()
