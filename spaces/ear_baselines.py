"""The spaces of the baselines of EAR. All are trained for as many encoder passes as EAR itself may take."""

from collections.abc import Callable
from typing import Any

from seedwise.trainables.ear.options import OPTIONS, EarOptions

RATES = (5e-6, 1.58e-5, 5e-5)  # the ends and the middle of the method's default range
RADII = (0.03, 0.1, 0.3)  # published nowhere
FOLLOWED = ("head", "copies", "scale", "redraw", "matching")  # besides training: how texts and classifier are made


def plain(trial: Any) -> dict:
    return {"lr": trial.suggest_categorical("lr", RATES)}


def rs_da(trial: Any) -> dict:
    return {"lr": trial.suggest_categorical("lr", RATES)}


def rs_rp(trial: Any) -> dict:
    return {"lr": trial.suggest_categorical("lr", RATES), "radius": trial.suggest_categorical("radius", RADII)}


def adv(trial: Any) -> dict:
    return {**rs_rp(trial), "ascents": trial.suggest_categorical("ascents", [1, 3])}


def most_passes(met: list[dict]) -> float:
    """Encoder passes per training example of the dearest of these configurations of EAR."""
    return max(EarOptions(**params).passes() for params in met)


def at_passes(name: str, params: dict, passes: float) -> dict:
    """The parameters with as many epochs as cost that many encoder passes; at least one."""
    once = OPTIONS[name](**{**params, "epochs": 1}).passes()
    return {**params, "epochs": max(1, round(passes / once))}


FUNCTIONS: dict[str, Callable[[Any], dict]] = {"plain": plain, "rs_da": rs_da, "rs_rp": rs_rp, "adv": adv}
