"""Creates, restores, trains and saves the run of a method on a worker."""

import json
import math
import tempfile
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seedwise.search.execution.checkpoints import CheckpointStore, pack, unpack
from seedwise.search.execution.messages import Outcome, RunOrder
from seedwise.search.ledger.state import COLLAPSED, CONFIRM, DONE
from seedwise.trainables.method import Method, RunFailed
from seedwise.trainables.streams import Streams


class Training:
    """One run, which is created from its order alone, and its progress."""

    def __init__(self, order: RunOrder, method: type[Method], inputs: Any, tests: Any, device: Any):
        self.order, self.method, self.inputs, self.device = order, method, inputs, device
        self.tests = tests if order.phase == CONFIRM else None
        self.run: Method | None = None
        self.epochs, self.seconds = 0, 0.0  # epochs done, here or by an equal run, and the time they took
        self.trained = 0  # epochs trained here: fewer than `epochs` while results come from an equal run
        self.last: dict[str, float] = {}  # metrics of the last epoch that reported any
        self.failure: Exception | None = None  # why the run could not be created
        self.saved = time.monotonic()

    def make(self, checkpoint: bytes | None, products: Sequence[Any]) -> str | None:
        """Create the run, restore its checkpoint and return its fingerprint. The first epoch reports any error."""
        try:
            self.run = self._new_run(products)
            try:
                self._restore(checkpoint)
            except Exception as error:  # the checkpoint is damaged or cannot be reached
                print(f"the checkpoint of {self.order.name} is unusable, starting over: {describe(error)}", flush=True)
                self.run, self.epochs, self.trained, self.seconds = self._new_run(products), 0, 0, 0.0
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

    def _restore(self, checkpoint: bytes | None) -> None:
        if self.run.independent:
            self.epochs = self.trained = min(self.order.recorded, self.run.steps - 1)
            return
        if self.order.checkpoint_store:
            checkpoint = CheckpointStore(self.order.checkpoint_store).load(self.order.name)
        if checkpoint:
            with tempfile.TemporaryDirectory() as folder:
                unpack(checkpoint, Path(folder))
                progress = json.loads(Path(folder, "epoch.json").read_text())
                self.run.load(Path(folder))
            self.epochs = self.trained = progress["epoch"]
            self.seconds = progress["seconds"]

    @property
    def in_last_epoch(self) -> bool:
        return self.epochs + 1 >= self.run.steps

    def train(self, started: float) -> Outcome:
        """Train the next epoch. Epochs whose results came from an equal run that has ended are trained first."""
        try:
            if self.failure:
                raise self.failure
            if self.trained < self.epochs:
                self.seconds = 0.0  # the time of the equal run does not count twice
            while self.trained < self.epochs:
                self.run.step(self.trained)
                self.trained += 1
            self.trained += 1
            metrics, status, error = self._step()
            if self.in_last_epoch or status != DONE:
                metrics = finite(metrics | self.run.constants())
                if self.tests is not None:
                    metrics = finite(metrics | self.run.test(self.tests))
        except Exception as failure:
            metrics = getattr(failure, "metrics", None) or self.last
            status, error = f"failed:{kind_of(failure)}", describe(failure)
        return Outcome(status, error, metrics, self.seconds + time.perf_counter() - started)

    def _step(self) -> tuple[dict[str, float], str, str]:
        """Do the next step. Returns its metrics, status and error.

        A method that raises `collapsed` with metrics ends its run.
        """
        status, error = DONE, ""
        try:
            metrics = self.run.step(self.epochs)
        except RunFailed as failure:
            status, error = f"failed:{failure.kind}", describe(failure)
            if status != COLLAPSED or not failure.metrics:
                raise
            metrics = failure.metrics
        self.last = finite(metrics)
        return metrics, status, error

    def advance(self, outcome: Outcome) -> bool:
        """Count an epoch, whichever run trained it. Returns whether the run is over."""
        self.epochs += 1
        self.last, self.seconds = outcome.metrics, outcome.seconds
        return outcome.status != DONE or self.epochs >= self.run.steps

    def pictures(self) -> str:
        """The pictures of a finished run as JSON; empty if there are none or if drawing failed."""
        if self.trained < self.epochs:
            return ""  # its results come from an equal run
        try:
            from seedwise.trainables.pictures import as_json

            return as_json(self.run.pictures())
        except Exception as error:
            print(f"{type(self.run).__name__}.pictures failed, its run counts: {describe(error)}", flush=True)
            return ""

    def checkpoint(self, *, now: bool) -> bytes | None:
        """A checkpoint to continue from after this epoch. None if none is due, or if it went to the shared store.

        If it cannot be saved, the run continues; on another worker the run would start from an earlier epoch.
        """
        due = now or time.monotonic() - self.saved >= self.order.checkpoint_seconds
        if type(self.run).save is Method.save or self.trained != self.epochs or not due:
            return None
        self.saved = time.monotonic()
        try:
            with tempfile.TemporaryDirectory() as folder:
                self.run.save(Path(folder))
                progress = {"epoch": self.epochs, "seconds": self.seconds}
                Path(folder, "epoch.json").write_text(json.dumps(progress))
                checkpoint = pack(Path(folder))
            if not self.order.checkpoint_store:
                return checkpoint
            CheckpointStore(self.order.checkpoint_store).save(self.order.name, checkpoint)
        except Exception as error:  # torch, safetensors, pyarrow and Ray raise different errors for a full disk
            print(f"the checkpoint of {self.order.name} could not be saved: {describe(error)}", flush=True)
        return None


def finite(metrics: dict[str, float]) -> dict[str, float]:
    """Return the metrics unchanged. Raises RunFailed if a metric is not a finite number."""
    for name, value in metrics.items():
        if not math.isfinite(value):
            raise RunFailed("nan", f"{name} is {value}", metrics)
    return metrics


def kind_of(error: Exception) -> str:
    """The kind of a failure: nan, collapsed, oom or error."""
    if isinstance(error, RunFailed):
        return error.kind
    return "oom" if isinstance(error, MemoryError) or "OutOfMemory" in type(error).__name__ else "error"


def describe(error: Exception) -> str:
    """The error and the line that raised it, in one line."""
    frame = traceback.extract_tb(error.__traceback__)[-1] if error.__traceback__ else None
    where = f" ({Path(frame.filename).name}:{frame.lineno})" if frame else ""
    return f"{type(error).__name__}: {error}".splitlines()[0] + where
