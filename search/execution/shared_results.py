"""Shares results among runs that would do the same work: the first run does it, the other runs take its results.

Two configurations can build the same tables (from some k on, sparsemax gives a word no more anchors). Their training is
then equal to the last bit, and the method gives them the same fingerprint. Results are shared epoch by epoch through
Ray's key-value store, within one session of a search.

Others train the same model and only score it differently (the maps of LS). Their fingerprints agree before the slash,
and the run that trains publishes results for all of them. The ledger has each run's own results alone. So after an
interruption the next of these runs trains the model once more, and publishes for the rest.
"""

import json
import time
from collections.abc import Mapping
from dataclasses import replace

from seedwise.folder import run_id
from seedwise.search.cluster.ray_internals import kv_get, kv_put
from seedwise.search.execution.coordination import last_heartbeat
from seedwise.search.execution.messages import Outcome, RunOrder, session_key
from seedwise.search.ledger.state import COLLAPSED, DONE, Run, State

SHAREABLE = (DONE, COLLAPSED, "failed:nan")  # outcomes that a run would repeat, wherever it runs
POLL_SECONDS = 0.05
SILENCE_SECONDS = 30.0  # without a heartbeat: the run that does the work counts as dead


class SharedResults:
    """The results shared by those runs of a session that train the same model, as seen by the run `me`."""

    def __init__(self, session: str, fingerprint: str, me: str):
        self.session, self.fingerprint, self.me = session, fingerprint, me
        self.training = fingerprint.partition("/")[0]

    def owner(self) -> str:
        """The run that does the work: the first run that called this."""
        kv_put(self._of_training("owner"), self.me.encode(), overwrite=False)
        return kv_get(self._of_training("owner")).decode()

    def mine(self) -> bool:
        return self.owner() == self.me

    def publish(self, epoch: int, outcome: Outcome, siblings: Mapping[str, dict[str, float]] | None = None) -> None:
        """Share the outcome of an epoch. `siblings` are metrics of runs that score the same model, by fingerprint."""
        for fingerprint, metrics in {**(siblings or {}), self.fingerprint: outcome.metrics}.items():
            kv_put(self._epoch(fingerprint, epoch), json.dumps(vars(replace(outcome, metrics=metrics))).encode())

    def leave(self) -> None:
        """Tell runs that wait for this run that it will publish nothing more."""
        if self.mine():
            kv_put(self._of_training("left"))

    def wait(self, epoch: int) -> Outcome | None:
        """Wait for the outcome of an epoch. None if the owner has left or fallen silent without publishing it."""
        owner, heartbeat, heard = run_id(*self.owner().split("/")), None, time.monotonic()
        while True:
            if (latest := last_heartbeat(self.session, owner)) != heartbeat:
                heartbeat, heard = latest, time.monotonic()
            over = kv_get(self._of_training("left")) is not None or time.monotonic() > heard + SILENCE_SECONDS
            # Read last, or an outcome that came just before the end would be missed.
            content = kv_get(self._epoch(self.fingerprint, epoch))
            if content is not None or over:
                return None if content is None else Outcome(**json.loads(content))
            time.sleep(POLL_SECONDS)

    def _of_training(self, name: str) -> bytes:
        return f"seedwise/{self.session}/same/{self.training}/{name}".encode()

    def _epoch(self, fingerprint: str, epoch: int) -> bytes:
        return f"seedwise/{self.session}/results/{fingerprint}/{epoch}".encode()


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
            shared.leave()
