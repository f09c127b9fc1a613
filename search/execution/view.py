"""What shows a phase to a person while it runs: the room that draws it comes later, so only its contract is here."""

from typing import Protocol, Self

from seedwise.search.ledger.state import Run


class View(Protocol):
    """Told of every result, and asked in every turn of Tune's loop whether it wants to redraw."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...

    def result(self, run: Run) -> None:
        """A run ended."""

    def tick(self) -> None:
        """Redraw, if it is time to: called often, so it must be cheap."""

    def say(self, text: str) -> None:
        """Show one line that stays."""
