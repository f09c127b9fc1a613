"""A method without work, to measure the overhead of a search. A separate module, since workers import it."""

from typing import Any

from seedwise.trainables.method import Method


class Nothing(Method):
    """A run that ends at once."""

    def epoch(self, number: int) -> dict[str, float]:
        return {"value": -(self.params["x"] ** 2)}


def space(trial: Any) -> dict:
    return {"x": trial.suggest_float("x", -1.0, 1.0)}
