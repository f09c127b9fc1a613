"""Runs that would do the same work: the first does it, the others take its results.

Two configurations can build the same tables (sparsemax gives a word no more anchors, however many k allows), and their
training is then the same to the last bit. A method says so by its fingerprint. Results are shared through Ray's own
key-value store, epoch by epoch, within one session of a search.
"""

import json
import threading
import time

from seedwise.search.cluster.ray_internals import kv_get, kv_put
from seedwise.search.execution.messages import Outcome, RunOrder, session_key
from seedwise.search.ledger.state import DONE, Run, State

SHAREABLE = (DONE, "failed:nan", "failed:collapsed")  # ends that a run would come to again, wherever it runs
POLL_SECONDS = 0.05
BEAT_SECONDS = 2.0  # between two heartbeats of the run that does the work
SILENCE_SECONDS = 30.0  # without a heartbeat: then it counts as dead


class SharedResults:
    """The shared results of all runs of a session with one fingerprint; `me` is the run that looks."""

    def __init__(self, session: str, fingerprint: str, me: str):
        self.fingerprint, self.me, self._prefix = fingerprint, me, f"seedwise/{session}/same/{fingerprint}"
        self._left = threading.Event()
        self._beating = False

    def owner(self) -> str:
        """The run that does the work: the first that asked."""
        kv_put(self._key("owner"), self.me.encode(), overwrite=False)
        return kv_get(self._key("owner")).decode()

    def mine(self) -> bool:
        """Whether this run does the work. From then on it has a heartbeat until it leaves."""
        mine = self.owner() == self.me
        if mine and not self._beating:
            self._beating = True
            threading.Thread(target=self._beat, daemon=True).start()
        return mine

    def publish(self, epoch: int, outcome: Outcome) -> None:
        kv_put(self._key(epoch), json.dumps(vars(outcome)).encode())

    def leave(self) -> None:
        """Say that nothing more comes from this run, in case another one waits for it."""
        self._left.set()
        if self.owner() == self.me:
            kv_put(self._key("left"))

    def wait(self, epoch: int) -> Outcome | None:
        """What came of an epoch once it is there; None where its owner has left, or has no heartbeat for too long."""
        last, deadline = None, time.monotonic() + SILENCE_SECONDS
        while True:
            beat = kv_get(self._key("beat"))
            if beat != last:
                last, deadline = beat, time.monotonic() + SILENCE_SECONDS
            over = kv_get(self._key("left")) is not None or time.monotonic() > deadline
            content = kv_get(self._key(epoch))
            if content is not None or over:
                return None if content is None else Outcome(**json.loads(content))
            time.sleep(POLL_SECONDS)

    def _beat(self) -> None:
        while not self._left.wait(BEAT_SECONDS):
            kv_put(self._key("beat"), str(time.monotonic()).encode())

    def _key(self, name: str | int) -> bytes:
        return f"{self._prefix}/{name}".encode()


def reference(run: Run | RunOrder) -> str:
    """A run in the key-value store and in the ledger's `same_as`."""
    return f"{run.config_id}/{run.replicate}"


def publish_known(state: State, phase: str) -> None:
    """Share what earlier sessions know with the workers of this one: a run that would do the same work takes it."""
    for run in state.runs_of(phase):
        if run.finished and run.fingerprint and run.status in SHAREABLE:
            shared = SharedResults(session_key(state, phase), run.fingerprint, reference(run))
            shared.owner()
            for step, metrics in run.steps.items():
                seconds = run.seconds * step / run.step
                last = Outcome(run.status, run.error, metrics, seconds)
                shared.publish(step - 1, last if step == run.step else Outcome(DONE, "", metrics, seconds))
