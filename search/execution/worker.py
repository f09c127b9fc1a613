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
from seedwise.search.execution.shared_results import TELLING, Same
from seedwise.search.execution.start_barrier import begin_together
from seedwise.search.execution.training import Training
from seedwise.search.ledger.state import DONE
from seedwise.trainables.method import Method

PATIENCE = 20.0  # seconds that the first run of a worker waits for the other workers


class RunTrainable(tune.Trainable):
    """The Ray Tune side of a run: one step per epoch, done here or taken from an equal run, and told to the driver."""

    def setup(self, config: dict, method: type[Method], inputs: Any, tests: Any = None) -> None:
        order, self.device, self.first, self.same = RunOrder.of(config), None, True, None
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
        if self.same:
            self.same.leave()
        self.training: Training | None = None
        self.same: Same | None = None  # what is shared with equal runs
        self.ready: Any = None  # what the last step has for the driver
        self.give_inputs(None)
        if self.device is not None:
            from seedwise.trainables.training import device

            device.free()
        self.order, self.training = order, self.training_of(order)

    def give_inputs(self, state: bytes | None, *products: Any) -> None:
        """Take what the driver has for a run before its first step: its saved state, and what other runs left for it.

        They do not come with its order: Tune keeps that of all runs, and gets it back with every step.
        """
        self.given = state, products

    def hand_over(self) -> Any:
        """What the last step has for the driver, which asks as soon as it hears of it: a saved state, or a product.

        It does not come with the step itself: Tune keeps the answers of all steps for as long as a worker lives, and
        the states of a long search would fill the disks of its nodes.
        """
        ready, self.ready = self.ready, None
        return ready

    def step(self) -> dict:
        order, training = self.order, self.training
        if self.first:
            begin_together(order.session, order.workers, patience=PATIENCE)
            self.first = False
        if self.given is not None:  # Tune looks at nothing before the first step, and a method may hang as it is made
            self.beat.of(order.session, order.name)  # its time begins
            fingerprint = training.make(*self.given)
            if fingerprint is not None:
                self.same = Same(order.session, fingerprint, f"{order.config_id}/{order.replicate}")
            self.given = None
        started = time.perf_counter()
        outcome = self._taken()
        same_as = self.same.owner() if outcome else ""
        if outcome is None:
            outcome = training.train(started)
            if self.same and outcome.status in TELLING:
                self.same.publish(training.number, outcome)
        done = training.advance(outcome)
        finished = done and outcome.status == DONE
        if done and self.same:
            self.same.leave()
        stopping = not done and leaving(order.session)
        report = StepReport(
            **vars(outcome),
            epoch=training.number,
            epochs=training.run.steps if training.run else 0,
            done=done,
            node=self.node,
            fingerprint=self.same.fingerprint if self.same else "",
            same_as=same_as,
            pictures=training.pictures() if finished and order.draws else "",
            product=finished and self._has(training.run.product()),
            state=not done and self._has(training.state_to_keep(now=stopping)),
            leaving=stopping,
        )
        numbers = {name: value for name, value in outcome.metrics.items() if math.isfinite(value)}
        return replace(report, metrics=numbers).as_dict()

    def _taken(self) -> Outcome | None:
        """What this epoch comes to in another run that does the same work; None where this one has to do it."""
        training = self.training
        if self.same is None or (training.trained and training.trained == training.number) or self.same.mine():
            return None
        outcome = self.same.wait(training.number)
        if outcome and training.in_last_epoch:
            return replace(outcome, metrics=outcome.metrics | training.run.constants())  # its own, not the other's
        return outcome

    def _has(self, ready: Any) -> bool:
        """Keep what the driver will ask for; whether there is something."""
        self.ready = ready
        return ready is not None
