"""The spaces of the baselines of stitching."""

from typing import Any

from seedwise.trainables.stitching.maps import MAPS

RATES = (5e-6, 1.58e-5, 5e-5)  # the ends and the middle of the method's default range


def ls(trial: Any) -> dict:
    """The three maps at three learning rates."""
    return {"map": trial.suggest_categorical("map", MAPS), "lr": trial.suggest_categorical("lr", RATES)}


def lr(trial: Any) -> dict:
    """Logistic regression: its penalty, and whether long vectors count more."""
    return {
        "c": trial.suggest_categorical("c", [0.1, 1.0, 10.0, 100.0]),
        "normalise": trial.suggest_categorical("normalise", [False, True]),
    }


def zero_shot(trial: Any) -> dict:
    return {"lr": trial.suggest_categorical("lr", RATES)}


def constant(trial: Any) -> dict:
    return {}
