"""Creates the parts of a search from its specification: space, policy, estimator and others."""

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from seedwise.imports import import_path
from seedwise.search.decide.baselines import Baselines, baseline_spaces, every_candidate
from seedwise.search.decide.policy import Policy, policy_of
from seedwise.search.decide.proposal import Proposer
from seedwise.search.ledger.state import State
from seedwise.search.ranking.estimator import Estimator
from seedwise.search.ranking.results import Results
from seedwise.search.ranking.selection import Selection
from seedwise.spaces import Space, load
from seedwise.trainables.method import Candidates, Method
from seedwise.trainables.methods import spec_of

if TYPE_CHECKING:
    from seedwise.search.spec.schema import Specification


def estimator_of(resolved: dict, space: Callable[[], Space]) -> Estimator:
    """The estimator of a search. It shrinks scores towards a surrogate over the space if the policy asks for that."""
    surrogate = resolved.get("replicates", {}).get("surrogate", False)
    return Estimator(Selection.from_specification(resolved), space() if surrogate else None)


class Parts:
    """The parts of a search. Each part is created when it is first used: a command creates only what it needs."""

    def __init__(self, specification: "Specification"):
        self._specification = specification

    @cached_property
    def resolved(self) -> dict:
        """The specification as plain data."""
        return self._specification.as_dict()

    @cached_property
    def method(self) -> type[Method]:
        """The class of a built-in method, or of a user's method by its import path."""
        name = self._specification.method
        return import_path(spec_of(name).trainable if isinstance(name, str) else name.trainable, "method.trainable")

    @cached_property
    def space(self) -> Space:
        return load(**self._specification.model_dump(mode="json", include={"method", "space", "compat"}))

    @cached_property
    def baseline_spaces(self) -> dict[str, Space]:
        keys = self._specification
        return baseline_spaces(self.resolved["method"], self.space, keys.baselines, keys.baseline_lengths)

    @cached_property
    def candidates(self) -> Candidates:
        """Every configuration that the search can run."""
        return every_candidate(self.space, self.baseline_spaces, self.resolved["enqueue"] or [])

    @cached_property
    def estimator(self) -> Estimator:
        return estimator_of(self.resolved, lambda: self.space)

    def results(self, state: State) -> Results:
        """The results of a search so far."""
        if "estimator" not in vars(self):  # the ledger has all options of the policy, whose module may be gone
            self.estimator = estimator_of(state.specification, lambda: self.space)
        return Results(state, self.estimator, lambda: self.space)

    @cached_property
    def policy(self) -> Policy:
        return policy_of(self._specification, self.estimator)

    @cached_property
    def baselines(self) -> Baselines | None:
        """All that the baselines run, at as many replicates as the policy gives everybody; None without baselines."""
        if not self.baseline_spaces:
            return None
        configurations = (params for space in self.baseline_spaces.values() for params, _ in space.grid())
        return Baselines(self.resolved["method"], tuple(configurations), self.policy.least_replicates())

    @cached_property
    def proposer(self) -> Proposer:
        keys, space = self._specification, self.space
        first = space.first() if keys.enqueue is None and keys.sampler != "grid" else keys.enqueue or []
        varying = (None, *keys.decompose) if keys.decompose else ()
        expected = self.policy.configurations()
        return Proposer(space, keys.sampler, keys.seed, self.estimator, tuple(first), expected, varying)
