"""The method's run on a worker: made, restored, trained epoch by epoch, saved."""

import json
import math
import tempfile
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seedwise.search.execution.checkpoints import Shelf, pack, unpack
from seedwise.search.execution.messages import Outcome, RunOrder
from seedwise.search.ledger.state import CONFIRM, DONE
from seedwise.trainables.method import Method, RunFailed
from seedwise.trainables.streams import Streams


class Training:
    """One run, made anew from its order, and its progress."""

    def __init__(self, order: RunOrder, method: type[Method], inputs: Any, tests: Any, device: Any):
        self.order, self.method, self.inputs, self.device = order, method, inputs, device
        self.tests = tests if order.phase == CONFIRM else None
        self.run: Method | None = None
        self.number, self.seconds = 0, 0.0  # epochs that are done, by whichever run, and what they cost
        self.trained = 0  # epochs that this worker did itself: fewer than `number` while it takes another's results
        self.last: dict[str, float] = {}  # metrics of the last epoch that gave any
        self.failure: Exception | None = None  # why there is no run
        self.saved = time.monotonic()

    def make(self, state: bytes | None, products: Sequence[Any]) -> str | None:
        """Make the run and load its state, if it has one; its fingerprint. An error is what the next epoch comes to."""
        try:
            self.run = self._new_run(products)
            try:
                self._restore(state)
            except Exception as error:  # it is damaged, or cannot be reached: the run starts over
                print(f"the state of {self.order.name} is not usable ({describe(error)}); it starts over", flush=True)
                self.run, self.number, self.trained, self.seconds = self._new_run(products), 0, 0, 0.0
            return self.run.fingerprint(self.tests)
        except Exception as error:
            self.failure = error
            return None

    def _new_run(self, products: Sequence[Any]) -> Method:
        order, params = self.order, dict(self.order.params)
        streams = Streams(order.seed, order.replicate, order.vary)
        run = self.method.class_for(params)(self.inputs, params, streams, self.device)
        if order.products:
            if len(products) != order.products:
                raise RuntimeError(f"{len(products)} of {order.products} models arrived from other runs")
            run.receive(list(products))
        return run

    def _restore(self, state: bytes | None) -> None:
        if self.run.independent:
            self.number = self.trained = min(self.order.recorded, self.run.steps - 1)
            return
        if self.order.shelf:
            state = Shelf(self.order.shelf).load(self.order.name)
        if state:
            with tempfile.TemporaryDirectory() as folder:
                unpack(state, Path(folder))
                progress = json.loads(Path(folder, "epoch.json").read_text())
                self.run.load(Path(folder))
            self.number = self.trained = progress["epoch"]
            self.seconds = progress["seconds"]

    @property
    def in_last_epoch(self) -> bool:
        return self.number + 1 >= self.run.steps

    def train(self, started: float) -> Outcome:
        """What the next epoch comes to, after those that were taken from a run that is gone."""
        try:
            if self.failure:
                raise self.failure
            if self.trained < self.number:
                self.seconds = 0.0  # what the other needed for them does not count twice
            while self.trained < self.number:
                self.run.step(self.trained)
                self.trained += 1
            self.trained += 1
            metrics = self.last = finite(self.run.step(self.number))
            if self.in_last_epoch:
                metrics = finite(metrics | self.run.constants())
                if self.tests is not None:
                    metrics = finite(metrics | self.run.test(self.tests))
            status, error = DONE, ""
        except Exception as failure:
            metrics = getattr(failure, "metrics", None) or self.last
            status, error = f"failed:{kind_of(failure)}", describe(failure)
        return Outcome(status, error, metrics, self.seconds + time.perf_counter() - started)

    def advance(self, outcome: Outcome) -> bool:
        """An epoch is over, whoever did it and paid for it; whether that was the last."""
        self.number += 1
        self.last, self.seconds = outcome.metrics, outcome.seconds
        return outcome.status != DONE or self.number >= self.run.steps

    def pictures(self) -> str:
        """The pictures of a finished run as JSON; empty where there are none, or where drawing them failed."""
        if self.trained < self.number:
            return ""  # its results were taken from another run
        try:
            from seedwise.trainables.pictures import as_json

            return as_json(self.run.pictures())
        except Exception as error:
            print(f"{type(self.run).__name__}.pictures failed, its run counts: {describe(error)}", flush=True)
            return ""

    def state_to_keep(self, *, now: bool) -> bytes | None:
        """All that is needed to go on after the last epoch: where it is time to save it, and it did not go to a shelf.

        A state that cannot be saved costs no run: it would start further back if it had to go on elsewhere.
        """
        due = now or time.monotonic() - self.saved >= self.order.checkpoint_seconds
        if type(self.run).save is Method.save or self.trained != self.number or not due:
            return None
        self.saved = time.monotonic()
        try:
            with tempfile.TemporaryDirectory() as folder:
                self.run.save(Path(folder))
                progress = {"epoch": self.number, "seconds": self.seconds}
                Path(folder, "epoch.json").write_text(json.dumps(progress))
                state = pack(Path(folder))
            if not self.order.shelf:
                return state
            Shelf(self.order.shelf).save(self.order.name, state)
        except Exception as error:  # torch, safetensors, pyarrow and Ray have each their own for a full disk
            print(f"the state of {self.order.name} was not saved: {describe(error)}", flush=True)
        return None


def finite(metrics: dict[str, float]) -> dict[str, float]:
    """The metrics as they are; one that is not a number ends the run."""
    for name, value in metrics.items():
        if not math.isfinite(value):
            raise RunFailed("nan", f"{name} is {value}", metrics)
    return metrics


def kind_of(error: Exception) -> str:
    """nan, collapsed, oom or error."""
    if isinstance(error, RunFailed):
        return error.kind
    return "oom" if isinstance(error, MemoryError) or "OutOfMemory" in type(error).__name__ else "error"


def describe(error: Exception) -> str:
    """The error and the line that raised it, in one line."""
    frame = traceback.extract_tb(error.__traceback__)[-1] if error.__traceback__ else None
    where = f" ({Path(frame.filename).name}:{frame.lineno})" if frame else ""
    return f"{type(error).__name__}: {error}".splitlines()[0] + where
