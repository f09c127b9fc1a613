"""The messages between the driver and a worker about a run: an order before the run, a report after each step.

Ray Tune carries messages as the configuration and the results of a trial, which are dicts. It flattens results and adds
keys to them, so messages are converted to dicts (`as_dict`) for Tune only, and read back (`of`) on the other side.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

from seedwise.folder import run_id
from seedwise.search.ledger.state import DONE, State

PREFIX = "metrics/"  # Tune's prefix for the names of metrics in a flat result


def session_key(state: State, phase: str) -> str:
    """The key prefix that the workers of one phase of one session share in the key-value store."""
    return f"{state.search['search_id']}/{state.sessions}/{phase}"


class Message:
    """Base class of messages, which are frozen dataclasses of plain data."""

    def as_dict(self) -> dict[str, Any]:
        return dict(vars(self))

    @classmethod
    def of(cls, sent: Mapping[str, Any]) -> Self:
        """Read a message from a configuration or a flat result of Tune."""
        metrics = {name.removeprefix(PREFIX): float(value) for name, value in sent.items() if name.startswith(PREFIX)}
        return cls(**{key.name: metrics if key.name == "metrics" else sent[key.name] for key in fields(cls)})


@dataclass(frozen=True)
class RunOrder(Message):
    """Driver to worker: which run to do, and how."""

    config_id: str
    replicate: int
    phase: str
    params: dict
    vary: str | None  # the only random stream whose seed depends on the replicate; None: all streams
    seed: int  # of the search
    session: str  # see `session_key`
    workers: int  # how many workers begin their first runs together
    threads: int
    gpus: float
    checkpoint_seconds: float  # between two checkpoints
    heartbeat_seconds: float  # between two heartbeats
    checkpoint_store: str  # where all nodes read and write checkpoints; empty: checkpoints go through the driver
    recorded: int  # the ledger has all steps of the run up to this number
    products: int  # how many products of other runs the worker gets
    draw: bool  # whether to send pictures

    @property
    def name(self) -> str:
        return run_id(self.config_id, self.replicate)


@dataclass(frozen=True)
class Outcome:
    """The outcome of one step. It is the same for all runs that do the same work."""

    status: str = DONE  # or failed:<kind>
    error: str = ""
    metrics: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0  # since the run began


@dataclass(frozen=True)
class StepReport(Outcome, Message):
    """Worker to driver: the outcome of a step, the progress, and what the driver can fetch from the worker."""

    epoch: int = 0  # steps done
    epochs: int = 0  # steps in all; 0 if the run could not be created
    done: bool = False
    node: str = ""
    fingerprint: str = ""  # equal for runs that do the same work
    same_as: str = ""  # the run whose results this run took
    pictures: str = ""  # JSON
    has_checkpoint: bool = False
    has_product: bool = False
    stopping: bool = False  # whether the worker has seen the request to stop
