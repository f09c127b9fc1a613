"""A worker: the trainable that runs any method for Ray Tune, one run after another."""

import math
import sys
import time
from dataclasses import replace
from functools import partial
from typing import Any

import ray
from ray import tune

from seedwise.search.execution.heartbeat import Beat, leaving
from seedwise.search.execution.messages import Outcome, RunOrder, StepReport
from seedwise.search.execution.shared_results import SHAREABLE, SharedResults, reference
from seedwise.search.execution.start_barrier import begin_together
from seedwise.search.execution.training import Training
from seedwise.search.ledger.state import DONE
from seedwise.trainables.method import Method

START_SECONDS = 20.0  # that the first run of a worker waits for the other workers


class RunTrainable(tune.Trainable):
    """The Ray Tune side of a run: one step per epoch, done here or taken from an equal run, and reported."""

    def setup(self, config: dict, method: type[Method], inputs: Any, tests: Any = None) -> None:
        order, self.device, self.first, self.shared = RunOrder.of(config), None, True, None
        self.node = ray.get_runtime_context().get_node_id() if ray.is_initialized() else ""
        self.beat = Beat(order.beat_seconds, self.node)
        if "torch" in sys.modules:  # which the method imports, if it needs it
            from seedwise.trainables.training import device

            self.device = device.set_up(order.threads, order.gpus)
        self.training_of = partial(Training, method=method, inputs=inputs, tests=tests, device=self.device)
        self.begin(order)

    def reset_config(self, new_config: dict) -> bool:
        self.begin(RunOrder.of(new_config))
        return True

    def begin(self, order: RunOrder) -> None:
        """Start a run from nothing but its order: all that an earlier run left behind is dropped first."""
        if self.shared:
            self.shared.leave()
        self.training: Training | None = None
        self.shared: SharedResults | None = None  # with equal runs
        self.output: Any = None  # what the last step has for the driver
        self.set_inputs(None)
        if self.device is not None:
            from seedwise.trainables.training import device

            device.free()
        self.order, self.training = order, self.training_of(order)

    def set_inputs(self, state: bytes | None, *products: Any) -> None:
        """Take what the driver has for a run before its first step: its saved state, and what other runs left for it.

        They do not come with its order: Tune keeps that of all runs, and gets it back with every step.
        """
        self.inputs = state, products

    def take_output(self) -> Any:
        """What the last step has for the driver, which asks as soon as it hears of it: a saved state, or a product.

        It does not come with the step itself: Tune keeps the answers of all steps for as long as a worker lives, and
        the states of a long search would fill the disks of its nodes.
        """
        output, self.output = self.output, None
        return output

    def step(self) -> dict:
        order, training = self.order, self.training
        if self.first:
            begin_together(order.session, order.workers, timeout=START_SECONDS)
            self.first = False
        if self.inputs is not None:  # Tune looks at nothing before the first step, and a method may hang as it is made
            self.beat.of(order.session, order.name)  # its time begins
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
                self.shared.publish(training.number, outcome)
        done = training.advance(outcome)
        finished = done and outcome.status == DONE
        if done and self.shared:
            self.shared.leave()
        stopping = not done and leaving(order.session)
        report = StepReport(
            **vars(outcome),
            epoch=training.number,
            epochs=training.run.steps if training.run else 0,
            done=done,
            node=self.node,
            fingerprint=self.shared.fingerprint if self.shared else "",
            same_as=same_as,
            pictures=training.pictures() if finished and order.draws else "",
            product=finished and self._holds(training.run.product()),
            state=not done and self._holds(training.state_to_keep(now=stopping)),
            leaving=stopping,
        )
        numbers = {name: value for name, value in outcome.metrics.items() if math.isfinite(value)}
        return replace(report, metrics=numbers).as_dict()

    def _shared_outcome(self) -> Outcome | None:
        """What this epoch comes to in another run that does the same work; None where this one has to do it."""
        training = self.training
        if self.shared is None or (training.trained and training.trained == training.number) or self.shared.mine():
            return None
        outcome = self.shared.wait(training.number)
        if outcome and training.in_last_epoch:
            return replace(outcome, metrics=outcome.metrics | training.run.constants())  # its own, not the other's
        return outcome

    def _holds(self, output: Any) -> bool:
        """Hold what the driver will ask for; whether there is something."""
        self.output = output
        return output is not None
