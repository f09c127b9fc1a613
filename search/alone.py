"""Runs that were out of memory in their share of a device: once the others are done, each gets a whole one."""

from dataclasses import dataclass

from search.ledger import CONFIRM, WAITING, State
from search.policy import Confirm, Replicate, Stop


@dataclass(frozen=True)
class Alone:
    """Decides over a phase's waiting runs, and over nothing else."""

    phase: str

    def next_action(self, state: State, *, more: bool = False) -> Replicate | Stop:
        kind = Confirm if self.phase == CONFIRM else Replicate
        for run in state.runs_of(self.phase):
            if run.status == WAITING:
                return kind(run.config_id, run.replicate, "it was out of memory in its share of a device")
        return Stop("nothing waits for a whole device")
