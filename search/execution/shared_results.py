"""Shares results among runs that would do the same work: the first run does it, the other runs take its results.

Two configurations can build the same tables (from some k on, sparsemax gives a word no more anchors). Their training is
then equal to the last bit, and the method gives them the same fingerprint. Results are shared epoch by epoch through
Ray's key-value store, within one session of a search.
"""

import json
import time

from seedwise.folder import run_id
from seedwise.search.cluster.ray_internals import kv_get, kv_put
from seedwise.search.execution.coordination import last_heartbeat
from seedwise.search.execution.messages import Outcome, RunOrder, session_key
from seedwise.search.ledger.state import COLLAPSED, DONE, Run, State

SHAREABLE = (DONE, COLLAPSED, "failed:nan")  # outcomes that a run would repeat, wherever it runs
POLL_SECONDS = 0.05
SILENCE_SECONDS = 30.0  # without a heartbeat: the run that does the work counts as dead


class SharedResults:
    """The results that runs of a session with the same fingerprint share; `me` is the run that uses this object."""

    def __init__(self, session: str, fingerprint: str, me: str):
        self.session, self.fingerprint, self.me = session, fingerprint, me

    def owner(self) -> str:
        """The run that does the work: the first run that called this."""
        kv_put(self._key("owner"), self.me.encode(), overwrite=False)
        return kv_get(self._key("owner")).decode()

    def mine(self) -> bool:
        return self.owner() == self.me

    def publish(self, epoch: int, outcome: Outcome) -> None:
        kv_put(self._key(epoch), json.dumps(vars(outcome)).encode())

    def leave(self) -> None:
        """Tell runs that wait for this run that it will publish nothing more."""
        if self.mine():
            kv_put(self._key("left"))

    def wait(self, epoch: int) -> Outcome | None:
        """Wait for the outcome of an epoch. None if the owner has left or fallen silent without publishing it."""
        owner, heartbeat, heard = run_id(*self.owner().split("/")), None, time.monotonic()
        while True:
            if (latest := last_heartbeat(self.session, owner)) != heartbeat:
                heartbeat, heard = latest, time.monotonic()
            over = kv_get(self._key("left")) is not None or time.monotonic() > heard + SILENCE_SECONDS
            content = kv_get(self._key(epoch))  # read last, so that an outcome published just before the end counts
            if content is not None or over:
                return None if content is None else Outcome(**json.loads(content))
            time.sleep(POLL_SECONDS)

    def _key(self, name: str | int) -> bytes:
        return f"seedwise/{self.session}/same/{self.fingerprint}/{name}".encode()


def reference(run: Run | RunOrder) -> str:
    """The name of a run in the key-value store and in the ledger's `same_as`."""
    return f"{run.config_id}/{run.replicate}"


def publish_known(state: State, phase: str) -> None:
    """Share the results of earlier sessions with this one, so that no equal run is trained again."""
    for run in state.runs_of(phase):
        if run.finished and run.fingerprint and run.status in SHAREABLE:
            shared = SharedResults(session_key(state, phase), run.fingerprint, reference(run))
            shared.owner()
            for step, metrics in run.steps.items():
                seconds, last = run.seconds * step / run.step, step == run.step
                status, error = (run.status, run.error) if last else (DONE, "")
                shared.publish(step - 1, Outcome(status, error, metrics, seconds))
