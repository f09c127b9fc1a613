"""What the driver and a worker tell each other about a run: an order before it, a report after each step.

Ray Tune carries them as the configuration and the results of a trial, which are dicts. It flattens results and adds
keys of its own, so each message goes through `as_dict` on one side and `of` on the other, and nowhere else.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

from seedwise.folder import run_name
from seedwise.search.ledger.state import DONE, State

METRICS = "metrics/"  # what Tune puts before the names of metrics when it flattens a result


def session_key(state: State, phase: str) -> str:
    """What the workers of one phase of one session of a search share, and no others."""
    return f"{state.search['search_id']}/{state.sessions}/{phase}"


class Message:
    """One direction each: a frozen dataclass of plain data."""

    def as_dict(self) -> dict[str, Any]:
        return dict(vars(self))

    @classmethod
    def of(cls, sent: Mapping[str, Any]) -> Self:
        """The message in a configuration or a flat result of Tune."""
        metrics = {name.removeprefix(METRICS): float(value) for name, value in sent.items() if name.startswith(METRICS)}
        return cls(**{key.name: metrics if key.name == "metrics" else sent[key.name] for key in fields(cls)})


@dataclass(frozen=True)
class RunOrder(Message):
    """Driver to worker: one run, and how it is done."""

    config_id: str
    replicate: int
    phase: str
    params: dict
    vary: str | None  # the only stream whose seed follows the replicate; None: all of them
    seed: int  # of the search
    session: str  # what the workers of one phase of one session share
    workers: int  # whose first runs begin together
    threads: int
    gpus: float
    checkpoint_seconds: float  # between two saved states
    beat_seconds: float  # between two heartbeats
    shelf: str  # where all nodes see saved states; empty: they go through the driver
    recorded: int  # steps that the ledger has, without a gap
    products: int  # how many products of other runs its worker is given
    draws: bool  # whether pictures are asked for

    @property
    def name(self) -> str:
        return run_name(self.config_id, self.replicate)


@dataclass(frozen=True)
class Outcome:
    """What came of one step, the same for all runs that do the same work."""

    status: str = DONE  # or failed:<kind>
    error: str = ""
    metrics: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0  # that the run has taken so far


@dataclass(frozen=True)
class StepReport(Outcome, Message):
    """Worker to driver: what came of a step, how far the run is, and what the worker has for the driver."""

    epoch: int = 0  # steps that are done
    epochs: int = 0  # steps in all; 0 where the run could not be made
    done: bool = False
    node: str = ""
    fingerprint: str = ""  # equal for runs that do the same work
    same_as: str = ""  # the run whose results this one took
    pictures: str = ""  # JSON
    state: bool = False  # whether its worker has a saved state for the driver
    product: bool = False  # whether its worker has what the run leaves for others
    leaving: bool = False  # whether the worker has heard that the search stops
