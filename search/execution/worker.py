"""A worker: the trainable that runs any method for Ray Tune, one run after another."""

import math
import sys
import time
from dataclasses import replace
from functools import partial
from typing import Any

import ray
from ray import tune

from seedwise.search.execution.coordination import Heartbeat, begin_together, stop_requested
from seedwise.search.execution.messages import Outcome, RunOrder, StepReport
from seedwise.search.execution.shared_results import SHAREABLE, SharedResults, reference
from seedwise.search.execution.training import Training
from seedwise.search.ledger.state import DONE
from seedwise.trainables.method import Method

START_SECONDS = 20.0  # how long the first run of a worker waits for the other workers


class RunTrainable(tune.Trainable):
    """The trainable of Ray Tune. A step reports one epoch of a run, trained here or taken from an equal run."""

    def setup(self, config: dict, method: type[Method], inputs: Any, tests: Any = None) -> None:
        order, self.device, self.first, self.shared = RunOrder.of(config), None, True, None
        self.node = ray.get_runtime_context().get_node_id() if ray.is_initialized() else ""
        self.heartbeat = Heartbeat(order.heartbeat_seconds, self.node)
        if "torch" in sys.modules:  # the method has imported it, if it needs it
            from seedwise.trainables.training import device

            self.device = device.set_up(order.threads, order.gpus)
        self.training_of = partial(Training, method=method, inputs=inputs, tests=tests, device=self.device)
        self.begin(order)

    def reset_config(self, new_config: dict) -> bool:
        self.begin(RunOrder.of(new_config))
        return True

    def begin(self, order: RunOrder) -> None:
        """Drop all that the previous run left behind, then prepare for this run."""
        if self.shared:
            self.shared.leave()
        self.training: Training | None = None
        self.shared: SharedResults | None = None  # results shared with equal runs
        self.output: Any = None  # for the driver: a checkpoint or a product
        self.set_inputs(None)
        if self.device is not None:
            from seedwise.trainables.training import device

            device.free()
        self.order, self.training = order, self.training_of(order)

    def set_inputs(self, checkpoint: bytes | None, *products: Any) -> None:
        """Take the checkpoint of a run and the products of other runs that it needs, before its first step.

        They are not part of the order, since Tune keeps all orders and gets the order back with every step.
        """
        self.inputs = checkpoint, products

    def take_output(self) -> Any:
        """Return the checkpoint or product that the last report announced. The driver calls this at once.

        The output is not part of the report, since Tune keeps all reports for as long as a worker lives: the
        checkpoints of a long search would fill the disks of its nodes.
        """
        output, self.output = self.output, None
        return output

    def step(self) -> dict:
        order, training = self.order, self.training
        if self.first:
            begin_together(order.session, order.workers, timeout=START_SECONDS)
            self.first = False
        if self.inputs is not None:  # create the run here, not in `begin`: a method may hang, and is timed from here on
            self.heartbeat.start_run(order.session, order.name)
            fingerprint = training.make(*self.inputs)
            if fingerprint is not None:
                self.shared = SharedResults(order.session, fingerprint, reference(order))
            self.inputs = None
        started = time.perf_counter()
        outcome = self._shared_outcome()
        same_as = self.shared.owner() if outcome else ""
        if outcome is None:
            outcome = training.train(started)
            if self.shared and outcome.status in SHAREABLE:
                self.shared.publish(training.epochs, outcome, training.run.metrics_of_siblings())
        done = training.advance(outcome)
        finished = done and outcome.status == DONE
        if done and self.shared:
            self.shared.leave()
        stopping = not done and stop_requested(order.session)
        if finished:
            self.output = training.run.product()
        elif not done:
            self.output = training.checkpoint(now=stopping)
        metrics = {name: value for name, value in outcome.metrics.items() if math.isfinite(value)}
        return StepReport(
            **{**vars(outcome), "metrics": metrics},
            epoch=training.epochs,
            epochs=training.run.steps if training.run else 0,
            done=done,
            node=self.node,
            fingerprint=self.shared.fingerprint if self.shared else "",
            same_as=same_as,
            pictures=training.pictures() if finished and order.draw else "",
            has_product=finished and self.output is not None,
            has_checkpoint=not done and self.output is not None,
            stopping=stopping,
        ).as_dict()

    def _shared_outcome(self) -> Outcome | None:
        """The outcome of this epoch in an equal run; None if this run must train the epoch itself."""
        training = self.training
        if self.shared is None or (training.trained and training.trained == training.epochs) or self.shared.mine():
            return None
        outcome = self.shared.wait(training.epochs)
        if outcome and training.in_last_epoch:
            return replace(outcome, metrics=outcome.metrics | training.run.constants())  # not those of the equal run
        return outcome
