"""The spaces of the baselines of continued pretraining, which take as many steps as the method itself may."""

from collections.abc import Callable
from typing import Any

RATES = (5e-6, 2.24e-5, 1e-4)  # the ends and the middle of the method's default range
WEIGHTS = (0.1, 1.0, 10.0)  # squared distances are in other units than correlations: not those of the method
# Besides training: how text and words are drawn, how words become vectors, how the classifier is made.
FOLLOWED = (
    "steps",
    "blocks",
    "block_batch",
    "mask_rate",
    "drawn",
    "static",
    "layer",
    "pooling",
    "padding",
    "words",
    "word_batch",
    "tune_epochs",
    "tune_lr",
    "tune_warmup",
    "tune_batch_size",
)


def untouched(trial: Any) -> dict:
    return {}


def mlm(trial: Any) -> dict:
    return {"lr": trial.suggest_categorical("lr", RATES)}


def mse(trial: Any) -> dict:
    return {"lr": trial.suggest_categorical("lr", RATES), "weight": trial.suggest_categorical("weight", WEIGHTS)}


FUNCTIONS: dict[str, Callable[[Any], dict]] = {"untouched": untouched, "mlm": mlm, "mse": mse}
