"""Runs that were out of memory in their share of a device: once the others are done, each gets a whole one."""

from dataclasses import dataclass

from seedwise.search.decide.policy import Confirm, FromPlan, Replicate, Stop
from seedwise.search.ledger.state import CONFIRM, PLANNED, WAITING, State


@dataclass(frozen=True)
class Alone:
    """Decides over a phase's waiting runs, and over nothing else."""

    phase: str

    def next_action(self, state: State, *, more: bool = False) -> Replicate | Stop:
        because = "it was out of memory in its share of a device"
        for run in state.runs_of(self.phase):
            if run.status != WAITING:
                continue
            if self.phase == PLANNED:
                params = state.configurations[run.config_id].params
                return FromPlan(run.config_id, run.replicate, because, params)
            return (Confirm if self.phase == CONFIRM else Replicate)(run.config_id, run.replicate, because)
        return Stop("nothing waits for a whole device")
