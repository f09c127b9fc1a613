"""The spaces of baselines: small and finite, so that a grid unfolds them.

How long and how fast a baseline is trained follows the method's own space, so that none loses for want of tuning.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from math import sqrt
from typing import Any

from seedwise.errors import RequestError
from seedwise.spaces.space import Space
from seedwise.trainables.methods import spec_of
from seedwise.trainables.spec import Baseline


def baseline_space(method: str, name: str, of: Space, overrides: dict[str, Any]) -> Space:
    """The space of a baseline beside `of`, the space of the method it is compared with.

    Parameters that the method's `follows` names are as in `of` where it has one value. Several learning rates become
    three: the lowest, the highest and their geometric middle. Several numbers of epochs or steps become the largest,
    or what the baseline's `resize` makes of them. All else that `of` varies is at its default. `overrides` win.
    """
    spec = spec_of(method)
    function = _function(name, spec.baselines[name], of.samples, overrides)
    inherited = _inherited(of.samples, spec.follows) | {key: of.fixed[key] for key in of.fixed if key in spec.follows}
    inherited = {key: value for key, value in inherited.items() if key in function.defaults}
    space = Space(function, {**inherited, **overrides}, key=f"baselines.{name}")
    if continuous := space.continuous():
        raise RequestError(f"baselines.{name}.{continuous[0]}", "all values are tried", "Write {choices: [a, b, ...]}.")
    return space


def _function(name: str, baseline: Baseline, of: Sequence[dict], overrides: dict[str, Any]) -> Callable[[Any], dict]:
    """The space function of a baseline; `of` are configurations of the method, which `resize` looks at."""
    resized = baseline.resize(of) if baseline.resize and "epochs" not in overrides else dict

    def function(trial: Any) -> dict:
        return {key: trial.suggest_categorical(key, list(choices)) for key, choices in baseline.choices.items()}

    def canonical(params: dict) -> dict:
        if params["baseline"] != name:
            raise RequestError("baseline", f"{params['baseline']!r} is not {name!r}", "Leave this key out.")
        own = baseline.canonical(resized({key: value for key, value in params.items() if key != "baseline"}))
        baseline.options(**own)
        return {"baseline": name, **own}

    defaults = asdict(baseline.options())
    function.defaults = {"baseline": name, **{key: defaults[key] for key in defaults if key not in baseline.unread}}
    function.canonical = canonical
    return function


def _inherited(configurations: Sequence[dict], follows: Sequence[str]) -> dict[str, Any]:
    """What a baseline takes over from the method's configurations, as overrides of its own space."""
    inherited = {}
    for key in follows:
        values = {params[key] for params in configurations if key in params}
        if len(values) == 1:
            inherited[key] = values.pop()
        elif values and key == "lr":
            middle = float(f"{sqrt(min(values) * max(values)):.3g}")  # no more digits than a person would write
            inherited[key] = [min(values), middle, max(values)]
        elif values and key in ("epochs", "steps"):
            inherited[key] = max(values)
    return inherited
