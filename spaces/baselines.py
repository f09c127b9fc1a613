"""The spaces of baselines: small and finite, so that a grid unfolds them.

How long and how fast a baseline is trained follows the method's own space, so that none loses for want of tuning.
"""

from collections.abc import Callable
from dataclasses import asdict, fields
from math import sqrt
from typing import Any

from seedwise.errors import RequestError
from seedwise.spaces import dcca_baselines, ear_baselines, stitching_baselines
from seedwise.spaces.dcca import without_tuning
from seedwise.spaces.space import Space
from seedwise.trainables.dcca import options as dcca_options
from seedwise.trainables.ear import options as ear_options
from seedwise.trainables.stitching import baseline_options as stitching_options
from seedwise.trainables.training.options import TrainingOptions

TRAINING = tuple(field.name for field in fields(TrainingOptions))
OF = {"stitching": stitching_baselines, "dcca": dcca_baselines, "ear": ear_baselines}  # by method
NAMES = {method: tuple(module.FUNCTIONS) for method, module in OF.items()}
FUNCTIONS = {name: function for module in OF.values() for name, function in module.FUNCTIONS.items()}
OPTIONS = {**stitching_options.OPTIONS, **dcca_options.OPTIONS, **ear_options.OPTIONS}
FOLLOWED = (*TRAINING, *(name for module in OF.values() for name in module.FOLLOWED))
LONGEST = ("epochs", "steps")  # of several values a baseline gets the largest


def baseline_space(name: str, of: Space, overrides: dict[str, Any]) -> Space:
    """The space of a baseline beside `of`, the space of the method it is compared with.

    How models are trained and how data are made is as in `of` where it has one value. Several learning rates become
    three: the lowest, the highest and their geometric middle. Several numbers of epochs or steps become the largest,
    the longest that the method itself may train; beside EAR they become those that cost as many encoder passes as the
    dearest of its configurations. All else that `of` varies is at its default. `overrides` win over this.
    """
    met = of.met()
    function = _function(name, met, overrides)
    fixed = {key: value for key, value in of.overrides.items() if not isinstance(value, list | dict)}
    taken = _taken(met) | {key: value for key, value in fixed.items() if key in FOLLOWED}
    taken = {key: value for key, value in taken.items() if key in function.defaults}
    if name in NAMES["ear"]:
        taken.pop("epochs", None)
    try:
        space = Space(function, {**taken, **overrides})
    except RequestError as error:
        raise RequestError(str(error).replace("space.", f"baselines.{name}.", 1)) from error
    if continuous := space.continuous():
        raise RequestError(f"baselines.{name}.{continuous[0]}: all values are tried. Write {{choices: [a, b, ...]}}.")
    return space


def _function(name: str, met: list[dict], overrides: dict[str, Any]) -> Callable[[Any], dict]:
    """The space function of a baseline, which says whose it is and drops what cannot matter."""
    at_equal_passes = name in NAMES["ear"] and "epochs" not in overrides
    passes = ear_baselines.most_passes(met) if at_equal_passes else 0.0

    def function(trial: Any) -> dict:
        return FUNCTIONS[name](trial)

    def canonical(params: dict) -> dict:
        if params["baseline"] != name:
            raise ValueError(f"baseline: {params['baseline']!r} is not {name!r}, whose space this is")
        own = {key: value for key, value in params.items() if key != "baseline"}
        if at_equal_passes:
            own = ear_baselines.at_passes(name, own, passes)
        if own.get("epochs") == 1:
            own.pop("redraw", None)  # there is nothing to draw again
        own = stitching_baselines.canonical(own)
        if name in NAMES["dcca"]:
            own = without_tuning(own)
        OPTIONS[name](**own)
        return {"baseline": name, **own}

    defaults = asdict(OPTIONS[name]())
    unread = stitching_baselines.UNREAD if name == "ls" else ()
    function.defaults = {"baseline": name, **{key: defaults[key] for key in defaults if key not in unread}}
    function.canonical = canonical
    return function


def _taken(met: list[dict]) -> dict[str, Any]:
    """What a baseline takes over from the method's configurations, as overrides of its own space."""
    values = {key: {params[key] for params in met if key in params} for key in FOLLOWED}
    taken = {key: found.pop() for key, found in values.items() if len(found) == 1}
    if len(rates := values["lr"]) > 1:
        middle = float(f"{sqrt(min(rates) * max(rates)):.3g}")  # no more digits than a person would write
        taken["lr"] = [min(rates), middle, max(rates)]
    taken |= {key: max(values[key]) for key in LONGEST if len(values[key]) > 1}
    return taken
