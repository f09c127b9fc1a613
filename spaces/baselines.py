"""The spaces of the baselines of stitching: small and finite, so that a grid unfolds them.

How long and how fast a baseline is trained follows the method's own space, so that none loses for want of tuning.
"""

import random
from collections.abc import Callable
from dataclasses import asdict, fields
from functools import partial
from math import sqrt
from typing import Any

from search.errors import RequestError
from spaces.space import PROBES, Space
from spaces.trials import Probe
from trainables.options import TrainingOptions
from trainables.stitching.baseline_options import ANCHORS, OPTIONS
from trainables.stitching.maps import MAPS

TRAINING = tuple(field.name for field in fields(TrainingOptions))
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


def canonical(name: str, params: dict) -> dict:
    """Drop the strength of all maps but ridge."""
    if params["baseline"] != name:
        raise ValueError(f"baseline: {params['baseline']!r} is not {name!r}, whose space this is")
    params = {key: value for key, value in params.items() if key != "strength" or params["map"] == "ridge"}
    OPTIONS[name](**{key: value for key, value in params.items() if key != "baseline"})
    return params


FUNCTIONS: dict[str, Callable[[Any], dict]] = {"ls": ls, "lr": lr, "zero_shot": zero_shot, "constant": constant}
for _name, _space in FUNCTIONS.items():
    _defaults = asdict(OPTIONS[_name]())
    if _name == "ls":  # the options of stitching that a linear map does not read are no parameters of it
        _defaults = {key: _defaults[key] for key in (*TRAINING, *ANCHORS, "map", "strength")}
    _space.defaults = {"baseline": _name, **_defaults}
    _space.canonical = partial(canonical, _name)


def baseline_space(name: str, of: Space, overrides: dict[str, Any]) -> Space:
    """The space of a baseline beside `of`, the space of the method it is compared with.

    How models are trained and which pairs are anchors is as in `of` where it has one value. Several learning rates
    become three: the lowest, the highest and their geometric middle. Several numbers of epochs become the largest, the
    longest that the method itself may train. All else that `of` varies is at its default. `overrides` win over this.
    """
    function = FUNCTIONS[name]
    taken = {key: value for key, value in _taken(of).items() if key in function.defaults}
    try:
        space = Space(function, {**taken, **overrides})
    except RequestError as error:
        raise RequestError(str(error).replace("space.", f"baselines.{name}.", 1)) from error
    if continuous := space.continuous():
        raise RequestError(f"baselines.{name}.{continuous[0]}: all values are tried. Write {{choices: [a, b, ...]}}.")
    return space


def _taken(of: Space) -> dict[str, Any]:
    """What a baseline takes over from `of`, as overrides of its own space."""
    probe = Probe(random.Random(0))
    met = [of(probe) for _ in range(PROBES)]  # a probe answers with the ends of ranges too
    values = {key: {params[key] for params in met if key in params} for key in (*TRAINING, *ANCHORS)}
    taken = {key: found.pop() for key, found in values.items() if len(found) == 1}
    if len(rates := values["lr"]) > 1:
        middle = float(f"{sqrt(min(rates) * max(rates)):.3g}")  # no more digits than a person would write
        taken["lr"] = [min(rates), middle, max(rates)]
    if len(epochs := values["epochs"]) > 1:
        taken["epochs"] = max(epochs)
    return taken
