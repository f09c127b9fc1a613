"""A space: a define-by-run function, a user's overrides, and the canonical form that gives a configuration its id.

A space function takes an Optuna trial and returns parameters. A user's own method needs nothing else. The function may
have three attributes: `defaults`, parameters that it does not suggest but the method accepts; `canonical`, a function
that drops the parameters that cannot matter; and `first`, configurations that are tried before any other.
"""

import hashlib
import itertools
import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from seedwise.errors import RequestError, RequestErrors, made_of_each, nearest
from seedwise.imports import import_path
from seedwise.spaces.dimension import Dimension, overridden
from seedwise.spaces.trials import MissingValue, RandomTrial, Trial, scripted
from seedwise.trainables.methods import built_in, spec_of
from seedwise.validation import request_errors

WALKS = 400  # random walks through a space function to find its dimensions: enough to enter every built-in branch
MAX_COUNTED = 100_000  # configurations of a finite space are counted up to this number


def config_id(params: dict) -> str:
    """A stable id of a configuration in canonical form: the same on every machine and in every order of keys."""
    return hashlib.sha256(json.dumps(params, sort_keys=True).encode()).hexdigest()[:10]


def _walk(function: Callable[[Any], dict]) -> tuple[dict[str, Dimension], list[dict]]:
    """The dimensions and the configurations of random walks through a space function, with a fixed seed."""
    trial = RandomTrial(random.Random(0))
    configurations = [function(trial) for _ in range(WALKS)]
    return trial.dimensions, configurations


@dataclass(frozen=True)
class Space:
    """A space function with its overrides. Call it with a trial to get a configuration in canonical form."""

    function: Callable[[Any], dict]
    overrides: dict[str, Any] = field(default_factory=dict)
    key: str = "space"  # the space's key in the specification, for errors

    def __post_init__(self) -> None:
        _ = self.searched, self._walks  # refuse an impossible override or value now, not in the run that draws it

    @property
    def defaults(self) -> dict[str, Any]:
        return getattr(self.function, "defaults", {})

    @cached_property
    def dimensions(self) -> dict[str, Dimension]:
        """Every dimension that the function may ask for, without overrides."""
        return _walk(self.function)[0]

    @cached_property
    def searched(self) -> dict[str, Dimension]:
        """The dimensions with the overrides, including parameters that only an override turns into a dimension."""
        known = {name: self._default(name) for name in self.defaults} | self.dimensions

        def changed(name: str, override: Any) -> Dimension:
            if name not in known:
                raise RequestError(f"{self.key}.{name}", "there is no such dimension", nearest(name, known))
            return overridden(f"{self.key}.{name}", known[name], override)

        return self.dimensions | made_of_each(changed, self.overrides.items())

    def _default(self, name: str) -> Dimension:
        """The dimension of a parameter that the function does not suggest: only its default value, of its type."""
        value = self.defaults[name]
        if isinstance(value, bool | str):
            return Dimension(choices=(value,))
        return Dimension(low=value, high=value, integer=isinstance(value, int))

    def _overridden(self, name: str, dimension: Dimension) -> Dimension:
        if name not in self.overrides:
            return dimension
        return overridden(f"{self.key}.{name}", dimension, self.overrides[name])

    def __call__(self, trial: Any) -> dict:
        """Suggest every dimension through `trial` and return the configuration in canonical form."""
        params = self.function(Trial(lambda name, dimension: self._overridden(name, dimension).suggest(trial, name)))
        for name in self.overrides:
            if name not in self.dimensions:
                params[name] = self.searched[name].suggest(trial, name)
        return self.canonical(params)

    def canonical(self, params: dict, key: str = "") -> dict:
        """All parameters of the method, without those that cannot matter: equal work has an equal id.

        `key` is the key of `params` in the specification, for errors; by default the space's own key.
        """
        key = key or self.key
        unknown = [name for name in params if self.defaults and name not in self.defaults]
        if unknown:
            problem = "the method has no such parameter"
            raise RequestErrors(
                RequestError(f"{key}.{name}", problem, nearest(name, self.defaults)) for name in unknown
            )
        full = {**self.defaults, **params}
        for name, default in self.defaults.items():  # tau: 1 is tau: 1.0
            if isinstance(default, float) and type(full[name]) is int:
                full[name] = float(full[name])
        with request_errors(f"{key}."):
            return getattr(self.function, "canonical", dict)(full)

    @property
    def fixed(self) -> dict[str, Any]:
        """The parameters that an override fixes to one value."""
        return {name: value for name, value in self.overrides.items() if not isinstance(value, list | dict)}

    def complete(self, params: dict, key: str = "") -> dict:
        """A configuration that the user wrote, in canonical form. Parameters left out take the overrides' values."""
        accepted = {name: value for name, value in self.fixed.items() if name in self.defaults}
        return self.canonical({**accepted, **params}, key)

    def first(self) -> list[dict]:
        """The function's `first` configurations (the paper's setting, degenerate points) that are in the space."""
        completed = [self.complete(params) for params in getattr(self.function, "first", ())]
        changed = self.overrides.keys()
        return [params for params in completed if all(params[name] in self.searched[name] for name in changed & params)]

    _walks = cached_property(_walk)

    @property
    def samples(self) -> list[dict]:
        """Configurations of random walks (with a fixed seed), including the ends of all ranges."""
        return self._walks[1]

    def grid(self) -> Iterator[tuple[dict, dict]]:
        """Every configuration once, with the suggestions that lead to it, in the order the choices are written.

        Branches of a conditional space unfold depth first: if the function asks for a dimension, all values are tried.
        """
        seen, stack = set(), [{}]
        while stack:
            values = stack.pop()
            try:
                params = self(scripted(values))
            except MissingValue as missing:
                stack.extend({**values, missing.name: value} for value in reversed(missing.dimension.values()))
                continue
            if (identity := config_id(params)) not in seen:
                seen.add(identity)
                yield params, values

    def continuous(self) -> list[str]:
        """Names of the dimensions that have infinitely many values after the overrides."""
        return sorted(name for name, dimension in self._walks[0].items() if dimension.continuous)

    def size(self) -> str:
        """The number of configurations in words: exact if finite, else the names of the continuous dimensions."""
        if continuous := self.continuous():
            return f"infinite ({', '.join(continuous)} continuous)"
        count = sum(1 for _ in itertools.islice(self.grid(), MAX_COUNTED))
        return f"more than {MAX_COUNTED} configurations" if count == MAX_COUNTED else f"{count} configurations"


def load(method: Any, space: Any, compat: str = "ours") -> Space:
    """The space that a specification names: `default`, `paper`, or overrides of the default (or of `base: paper`).

    `compat` fixes choices of a paper or its code that differ from ours; `ours` fixes nothing.
    """
    overrides = dict(space) if isinstance(space, dict) else {}
    for key, value in compat_of(method, compat).items():
        if overrides.setdefault(key, value) != value:
            raise RequestError(f"space.{key}", f"compat: {compat} fixes it to {value!r}", "Remove one of the two.")
    name = overrides.pop("base", "default") if isinstance(space, dict) else space
    if isinstance(method, str):
        known = spec_of(method).spaces
        if name not in known:
            raise RequestError("space", f"{method} has no space {name!r}", nearest(name, known))
        path = f"seedwise.spaces.{method}:{name}"
    else:
        path = method["space"]
        if name != "default":
            fix = "Write 'default', or overrides of its parameters."
            raise RequestError("space", f"{path} has no variant {name!r}", fix)
    return Space(import_path(path, "method.space"), overrides)


def compat_of(method: Any, compat: str) -> Mapping[str, Any]:
    """The parameters that `compat` fixes, and their values."""
    if compat == "ours":
        return {}
    spec = built_in(method)
    known = spec.compat if spec else {}
    if compat not in known:
        raise RequestError("compat", f"{compat!r}: this method has only {', '.join(['ours', *known])}", "Choose one.")
    return known[compat]
