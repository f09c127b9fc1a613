"""The spaces of the baselines of EAR. All are trained for as many encoder passes as EAR itself may take."""

from typing import Any

RATES = (5e-6, 1.58e-5, 5e-5)  # the ends and the middle of the method's default range
RADII = (0.03, 0.1, 0.3)  # published nowhere


def plain(trial: Any) -> dict:
    return {"lr": trial.suggest_categorical("lr", RATES)}


def rs_da(trial: Any) -> dict:
    return {"lr": trial.suggest_categorical("lr", RATES)}


def rs_rp(trial: Any) -> dict:
    return {"lr": trial.suggest_categorical("lr", RATES), "radius": trial.suggest_categorical("radius", RADII)}


def adv(trial: Any) -> dict:
    return {**rs_rp(trial), "ascents": trial.suggest_categorical("ascents", [1, 3])}
