"""A space: a define-by-run function, a person's overrides, and the canonical form that gives a configuration its id.

A space function takes an Optuna trial and returns parameters. Nothing else is needed for a method of one's own. Three
attributes may be set on the function: `defaults`, parameters it does not suggest but the method accepts, `canonical`, a
function that drops the parameters that cannot matter, and `first`, configurations that are tried before any other.
"""

import hashlib
import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from seedwise.errors import RequestError
from seedwise.imports import import_path
from seedwise.spaces.dimension import Dimension, overridden
from seedwise.spaces.trials import Open, Overriding, Probe, Scripted
from seedwise.suggest import nearest
from seedwise.trainables.methods import built_in, spec_of
from seedwise.validation import request_errors

PROBES = 400  # random walks through a space function to learn its dimensions: enough to enter every branch we have


def config_id(params: dict) -> str:
    """A stable id of a configuration in canonical form: the same on every machine and in every order of keys."""
    return hashlib.sha256(json.dumps(params, sort_keys=True).encode()).hexdigest()[:10]


@dataclass(frozen=True)
class Space:
    """A space function with its overrides. Call it with a trial to get a configuration in canonical form."""

    function: Callable[[Any], dict]
    overrides: dict[str, Any] = field(default_factory=dict)
    key: str = "space"  # of the specification, for errors

    def __post_init__(self) -> None:
        known = {name: self._default(name) for name in self.defaults} | self.dimensions
        for name in self.overrides:
            if name not in known:
                raise RequestError(f"{self.key}.{name}", "there is no such dimension", nearest(name, known))
            overridden(f"{self.key}.{name}", known[name], self.overrides[name])
        _probe(self)  # a value the method refuses is found now, not by the run that draws it

    @property
    def defaults(self) -> dict[str, Any]:
        return getattr(self.function, "defaults", {})

    def canonical(self, params: dict, key: str = "") -> dict:
        """All parameters of the method, without those that cannot matter: equal work has an equal id.

        `key` is that of the specification which has them, for errors; empty: the space's own.
        """
        key = key or self.key
        unknown = [name for name in params if self.defaults and name not in self.defaults]
        if unknown:
            raise RequestError(
                f"{key}.{unknown[0]}", "the method has no such parameter", nearest(unknown[0], self.defaults)
            )
        full = {**self.defaults, **params}
        for name, default in self.defaults.items():  # tau: 1 is tau: 1.0
            if isinstance(default, float) and type(full[name]) is int:
                full[name] = float(full[name])
        with request_errors(f"{key}."):
            return getattr(self.function, "canonical", dict)(full)

    def _default(self, name: str) -> Dimension:
        """A parameter that the function does not suggest, as the dimension of its default value: which type it has."""
        value = self.defaults[name]
        if isinstance(value, bool | str):
            return Dimension(choices=(value,))
        return Dimension(low=value, high=value, integer=isinstance(value, int))

    def complete(self, params: dict, key: str = "") -> dict:
        """A configuration that a person wrote, in canonical form: what she left out is as the overrides fix it."""
        fixed = {name: value for name, value in self.overrides.items() if not isinstance(value, list | dict)}
        accepted = {name: value for name, value in fixed.items() if name in self.defaults}
        return self.canonical({**accepted, **params}, key)

    def first(self) -> list[dict]:
        """What the function says should go first (the paper's setting, degenerate points), where it is in the space."""
        found = [self.complete(params) for params in getattr(self.function, "first", ())]
        return [params for params in found if all(self._admits(name, params) for name in self.overrides)]

    def _admits(self, name: str, params: dict) -> bool:
        known = self.dimensions[name] if name in self.dimensions else self._default(name)
        return name not in params or params[name] in overridden(f"{self.key}.{name}", known, self.overrides[name])

    def __call__(self, trial: Any) -> dict:
        """Suggest every dimension through `trial` and return the configuration in canonical form."""
        params = self.function(Overriding(trial, self.overrides))
        for name, override in self.overrides.items():
            if name not in self.dimensions:  # a parameter that the function sets itself or leaves at its default
                dimension = overridden(f"{self.key}.{name}", self._default(name), override)
                params[name] = dimension.suggest(trial, name)
        return self.canonical(params)

    @cached_property
    def dimensions(self) -> dict[str, Dimension]:
        """Every dimension the function may ask for, found by walking through it at random (with a fixed seed)."""
        return _probe(self.function)

    @cached_property
    def searched(self) -> dict[str, Dimension]:
        """The dimensions as the overrides leave them, those that they add among them."""
        known = dict(self.dimensions)
        return known | {
            name: overridden(f"{self.key}.{name}", known.get(name), how) for name, how in self.overrides.items()
        }

    def met(self) -> list[dict]:
        """Configurations that random walks meet (with a fixed seed), with the ends of all ranges among them."""
        return self._met

    @cached_property
    def _met(self) -> list[dict]:
        probe = Probe(random.Random(0))
        return [self(probe) for _ in range(PROBES)]

    def grid(self) -> Iterator[tuple[dict, dict]]:
        """Every configuration once, with the suggestions that lead to it, in the order the choices are written."""
        seen = set()
        for suggested in _paths(self):
            params = self(Scripted(suggested))
            if (identity := config_id(params)) not in seen:
                seen.add(identity)
                yield params, suggested

    def continuous(self) -> list[str]:
        """Names of the dimensions with infinitely many values, overrides considered."""
        return sorted(name for name, dimension in _probe(self).items() if dimension.continuous)

    def size(self, most: int = 100_000) -> str:
        """How many configurations there are, in words: exact where finite, else the continuous dimensions by name."""
        if continuous := self.continuous():
            return f"infinite ({', '.join(continuous)} continuous)"
        count = 0
        for count, _ in enumerate(self.grid(), start=1):
            if count == most:
                return f"more than {most} configurations"
        return f"{count} configurations"


def load(method: Any, space: Any, compat: str = "ours") -> Space:
    """The space that a specification names: `default`, `paper`, or overrides of the default (or of `base: paper`).

    `compat` fixes what a paper or its code decided otherwise than we would; `ours`, our own reading, fixes nothing.
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
            raise RequestError(
                "space", f"{path} is one space, there is no {name!r} of it", "Write overrides, or default."
            )
    return _made(import_path(path, "method.space"), json.dumps(overrides))


@lru_cache(maxsize=32)
def _made(function: Callable[[Any], dict], overrides: str) -> Space:
    """A space walks through its function when it is made, so each is made once in a process."""
    return Space(function, json.loads(overrides))


def compat_of(method: Any, compat: str) -> Mapping[str, Any]:
    """The parameters that `compat` fixes, and their values."""
    if compat == "ours":
        return {}
    spec = built_in(method)
    known = spec.compat if spec else {}
    if compat not in known:
        raise RequestError("compat", f"{compat!r}: this method has only {', '.join(['ours', *known])}", "Write one.")
    return known[compat]


def _probe(function: Callable[[Any], dict]) -> dict[str, Dimension]:
    probe = Probe(random.Random(0))
    for _ in range(PROBES):
        function(probe)
    return probe.seen


def _paths(space: Space) -> Iterator[dict]:
    """Every complete script of a space function, depth first: the branches of a conditional space unfold by asking."""
    stack: list[dict] = [{}]
    while stack:
        script = stack.pop()
        try:
            space(Scripted(script))
        except Open as question:
            values = question.dimension.values()
            stack.extend({**script, question.name: value} for value in reversed(values))
        else:
            yield script
