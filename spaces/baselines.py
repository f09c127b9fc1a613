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

LONGEST = ("epochs", "steps")  # of several values a baseline gets the largest


def baseline_space(method: str, name: str, of: Space, overrides: dict[str, Any]) -> Space:
    """The space of a baseline beside `of`, the space of the method it is compared with.

    What the method says that its baselines follow is as in `of` where it has one value. Several learning rates become
    three: the lowest, the highest and their geometric middle. Several numbers of epochs or steps become the largest,
    the longest that the method itself may train; or what the baseline's `resize` makes of them. All else that `of`
    varies is at its default. `overrides` win over this.
    """
    spec, met = spec_of(method), of.met()
    function = _function(name, spec.baselines[name], met, overrides)
    fixed = {key: value for key, value in of.overrides.items() if not isinstance(value, list | dict)}
    taken = _taken(met, spec.follows) | {key: value for key, value in fixed.items() if key in spec.follows}
    taken = {key: value for key, value in taken.items() if key in function.defaults}
    space = Space(function, {**taken, **overrides}, key=f"baselines.{name}")
    if continuous := space.continuous():
        raise RequestError(f"baselines.{name}.{continuous[0]}", "all values are tried", "Write {choices: [a, b, ...]}.")
    return space


def _function(name: str, baseline: Baseline, met: Sequence[dict], overrides: dict[str, Any]) -> Callable[[Any], dict]:
    """The space function of a baseline, which says whose it is and drops what cannot matter."""
    resized = baseline.resize(met) if baseline.resize and "epochs" not in overrides else dict

    def function(trial: Any) -> dict:
        return {key: trial.suggest_categorical(key, list(choices)) for key, choices in baseline.choices.items()}

    def canonical(params: dict) -> dict:
        if params["baseline"] != name:
            raise RequestError(
                "baseline", f"{params['baseline']!r} is not {name!r}, whose space this is", "Leave it out."
            )
        own = baseline.canonical(resized({key: value for key, value in params.items() if key != "baseline"}))
        baseline.options(**own)
        return {"baseline": name, **own}

    defaults = asdict(baseline.options())
    function.defaults = {"baseline": name, **{key: defaults[key] for key in defaults if key not in baseline.unread}}
    function.canonical = canonical
    return function


def _taken(met: Sequence[dict], follows: Sequence[str]) -> dict[str, Any]:
    """What a baseline takes over from the method's configurations, as overrides of its own space."""
    values = {key: {params[key] for params in met if key in params} for key in follows}
    taken = {key: found.pop() for key, found in values.items() if len(found) == 1}
    if len(rates := values.get("lr", ())) > 1:
        middle = float(f"{sqrt(min(rates) * max(rates)):.3g}")  # no more digits than a person would write
        taken["lr"] = [min(rates), middle, max(rates)]
    taken |= {key: max(values[key]) for key in LONGEST if len(values.get(key, ())) > 1}
    return taken
