"""The spaces of the baselines of continued pretraining, which take as many steps as the method itself may."""

from typing import Any

RATES = (5e-6, 2.24e-5, 1e-4)  # the ends and the middle of the method's default range
WEIGHTS = (0.1, 1.0, 10.0)  # squared distances are in other units than correlations: not those of the method


def untouched(trial: Any) -> dict:
    return {}


def mlm(trial: Any) -> dict:
    return {"lr": trial.suggest_categorical("lr", RATES)}


def mse(trial: Any) -> dict:
    return {"lr": trial.suggest_categorical("lr", RATES), "weight": trial.suggest_categorical("weight", WEIGHTS)}
