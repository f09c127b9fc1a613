"""The spaces of baselines: small and finite, so that a search can try every configuration.

Training lengths and learning rates of a baseline follow the method's space, so that no baseline loses because it was
not tuned or was trained too long. No run of a baseline costs more than the most expensive run of the method.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict
from math import sqrt
from typing import Any, Literal

from seedwise.errors import RequestError
from seedwise.spaces.dimension import is_number
from seedwise.spaces.space import Space
from seedwise.trainables.methods import spec_of
from seedwise.trainables.spec import Baseline

Lengths = Literal["grid", "longest"]
LENGTHS = ("epochs", "steps")  # the parameters that set how long a run trains
FEW = 3  # up to this number of lengths, all are tried


def baseline_space(method: str, name: str, of: Space, overrides: dict[str, Any], lengths: Lengths = "grid") -> Space:
    """The space of a baseline that is compared with a method whose space is `of`.

    Parameters in the method's `follows` take their value from `of` if it has only one. Several learning rates become
    three: the lowest, the highest and their geometric mean. Several numbers of epochs or steps are reduced by
    `_lengths`. Other parameters that `of` varies have their default, or the nearest number in the range of `of`.

    The baseline's own parameters (radius, weight, ...) vary at the middle rate and length, and have their defaults
    elsewhere: combined with all rates and lengths they would triple the runs. `overrides` win; an overridden own
    parameter is combined with all rates and lengths.

    `lengths="longest"` does as earlier versions did: one length, that of the method's most expensive run (or the
    nearest number of encoder passes), combined with all rates and all own parameters.
    """
    spec, baseline = spec_of(method), spec_of(method).baselines[name]
    defaults = asdict(baseline.options())
    defaults = {"baseline": name, **{key: defaults[key] for key in defaults if key not in baseline.unread}}
    most = max(spec.options(**params).passes() for params in of.samples) if spec.counts_passes else None
    values = {key: its for key in spec.follows if key in defaults and (its := _values(of, key))}
    training = {key: _tried(key, its, most, lengths) for key, its in values.items() if key in ("lr", *LENGTHS)}
    fixed = {key: its[0] for key, its in (values | training).items() if len(its) == 1}
    if lengths == "grid":
        varied = [key for key in values if key not in fixed and key not in training]
        fixed |= {key: _nearest(values[key], defaults[key]) for key in varied}

    def shortened(params: dict) -> dict:
        """Reduce the epochs to what the encoder passes allow, but at least one epoch."""
        if most is None or "epochs" in overrides:
            return params
        affordable = most / baseline.options(**{**params, "epochs": 1}).passes()
        epochs = min(params["epochs"], int(affordable)) if lengths == "grid" else round(affordable)
        return {**params, "epochs": max(1, epochs)}

    def canonical(params: dict) -> dict:
        if params["baseline"] != name:
            raise RequestError("baseline", f"{params['baseline']!r} is not {name!r}", "Leave this key out.")
        own = baseline.canonical(shortened({key: value for key, value in params.items() if key != "baseline"}))
        baseline.options(**own)
        return {"baseline": name, **own}

    function = _function(baseline, training, overrides if lengths == "grid" else {*overrides, *baseline.choices})
    function.defaults, function.canonical = defaults, canonical
    space = Space(function, {**fixed, **overrides}, key=f"baselines.{name}")
    if continuous := space.continuous():
        raise RequestError(f"baselines.{name}.{continuous[0]}", "all values are tried", "Write {choices: [a, b, ...]}.")
    return space


def _function(baseline: Baseline, training: dict[str, list], everywhere: Collection[str]) -> Callable[[Any], dict]:
    """A space function that varies `training` and, at its middle values, the baseline's own parameters.

    The kind of the baseline and the parameters in `everywhere` are combined with all of `training`.
    """
    everywhere = {baseline.kind, *everywhere}
    own = {key: values for key, values in baseline.choices.items() if key not in everywhere}
    # An overridden length is not a choice from these values: [1, 4] means 1 to 4 epochs, as in the method's space.
    training = {key: values for key, values in training.items() if key == "lr" or key not in everywhere}
    always = {key: values for key, values in baseline.choices.items() if key in everywhere} | training
    middle = {key: values[len(values) // 2] for key, values in training.items() if key not in everywhere}

    def function(trial: Any) -> dict:
        params = {key: trial.suggest_categorical(key, list(values)) for key, values in always.items()}
        if all(params[key] == value for key, value in middle.items()):
            params |= {key: trial.suggest_categorical(key, list(values)) for key, values in own.items()}
        return params

    return function


def _values(of: Space, key: str) -> list:
    """The distinct values of a parameter in the configurations of a method."""
    if key in of.fixed:
        return [of.fixed[key]]
    return list(dict.fromkeys(params[key] for params in of.samples if key in params))


def _tried(key: str, values: Sequence, most: float | None, lengths: Lengths) -> list:
    """The rates or lengths to try, from the method's `values`. `most` is in encoder passes; None: not counted."""
    low, high = min(values), max(values)
    if key == "lr":
        return [low] if low == high else [low, _middle(low, high, digits=3), high]
    return _lengths(values, most) if lengths == "grid" else [int(most or high)]


def _lengths(own: Sequence[int], most: float | None) -> list[int]:
    """The numbers of epochs or steps that a baseline trains for, from the method's `own` numbers.

    Up to three numbers are used unchanged. More become the smallest, the geometric mean and the largest. If encoder
    passes are counted, the numbers are the smallest, the largest and `most`: as many epochs as a baseline with one
    pass per epoch can afford.
    """
    low, high = min(own), max(own)
    if most is not None:
        return sorted({low, high, int(most)})
    return sorted(own) if len(own) <= FEW else [low, int(_middle(low, high, digits=2)), high]


def _middle(low: float, high: float, *, digits: int) -> float:
    """The geometric mean, rounded to `digits` significant digits."""
    return float(f"{sqrt(low * high):.{digits}g}")


def _nearest(values: Sequence, default: Any) -> Any:
    """The default, moved into the range of `values` if they are all numbers."""
    return min(max(default, min(values)), max(values)) if all(map(is_number, (*values, default))) else default
