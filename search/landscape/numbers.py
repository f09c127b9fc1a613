"""The content of `landscape.json`, computed from a landscape's ledger and models. Charts and sentences show it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from seedwise.search.decide.landscape_plan import Plan, PlannedRun
from seedwise.search.decide.policy import run_name
from seedwise.search.execution.products import Products
from seedwise.search.landscape.geometry import Geometry, stored_products
from seedwise.search.landscape.statistics import banded, barrier, finding, flat_within
from seedwise.search.ledger.state import DONE, Run, State
from seedwise.trainables.landscape.jobs import (
    ALL,
    AROUND,
    BOTH,
    EVEN,
    INITIAL,
    LINE,
    LINE_POINTS,
    MODELS,
    PLANE,
    RADII,
    SEEDS,
    SOURCE,
    TARGET,
    TRAIN,
    Model,
)

GEOMETRY = "geometry.json"  # in the folder of a landscape: inner products of its models


@dataclass(frozen=True)
class Numbers:
    """The numbers of a landscape, from its plan, its ledger's state and its models."""

    plan: Plan
    state: State
    products: Products

    @property
    def metric(self) -> str:
        return self.state.specification["select"]["metric"]

    @property
    def source(self) -> str:
        return self.state.specification["task"]["source"]

    def all(self) -> dict:
        """The content of `landscape.json`, except its sentences."""
        specification = self.state.specification
        return {
            "name": specification["name"],
            "method": specification["method"],
            "baseline": specification["landscape"]["baseline"],
            "params": self.plan.params,
            "metric": self.metric,
            "source": self.source,
            "targets": list(self.plan.targets),
            "options": specification["landscape"],
            "left_out": self.left_out(),
            "models": self.models(),
            "directions": self.directions(),
            "lines": self.lines,
            "planes": self.planes(),
            "seeds": self.seeds(),
            "around": self.around(),
            "findings": [self.finding(target) for target in self.plan.targets],
        }

    def done(self, kind: str) -> Iterator[tuple[PlannedRun, Run]]:
        """The runs of this kind of job that are done, each with its plan."""
        for planned, run in self.plan.with_runs(self.state):
            if planned.job.landscape == kind and run is not None and run.status == DONE:
                yield planned, run

    def grouped(self, kind: str, key: Callable[[PlannedRun], tuple]) -> dict[tuple, list[tuple[PlannedRun, Run]]]:
        groups: dict[tuple, list[tuple[PlannedRun, Run]]] = {}
        for planned, run in self.done(kind):
            groups.setdefault(key(planned), []).append((planned, run))
        return groups

    def left_out(self) -> list[str]:
        """The runs that failed, with their errors; without the runs that never started because they needed these."""
        failures = []
        for planned, run in self.plan.with_runs(self.state):
            if run is not None and run.status != DONE and run.finished:
                words = " ".join(str(value) for value in planned.job.params().values())
                failures.append(f"{run_name(words, planned.replicate)}: {run.status}, {run.error}")
        return failures

    @cached_property
    def trained(self) -> dict[Model, Run]:
        return {Model(planned.job.on, planned.job.target, planned.replicate): run for planned, run in self.done(TRAIN)}

    def model(self, on: str, target: str, replicate: int) -> Model:
        return Model.of(on, target, replicate, shared=self.plan.shared)

    def score(self, model: Model, language: str) -> float | None:
        """The dev score of a trained model, as its training reported it; None if it did not."""
        run = self.trained.get(model)
        return None if run is None else run.metrics.get(f"dev/{self.metric}/{language}")

    def languages(self, run: Run) -> list[str]:
        """The languages whose dev sets a run evaluated, the source first."""
        return [name for name in (self.source, *self.plan.targets) if f"dev/{self.metric}/{name}" in run.metrics]

    def curve(self, run: Run, name: str, language: str) -> list[float | None]:
        """A metric of a language at all points of a run, in order; None at points that lack it."""
        return [run.steps[step].get(f"dev/{name}/{language}") for step in sorted(run.steps)]

    def models(self) -> list[dict]:
        models = []
        for model, run in self.trained.items():
            scores = {language: self.score(model, language) for language in self.languages(run)}
            file = self.products.path(self.plan.trained[model].name).name
            models.append(vars(model) | {"scores": scores, "file": f"{self.products.folder.name}/{file}"})
        return models

    def replicates_with(self, target: str, *kinds: str) -> list[int]:
        """The replicates that have models of all these kinds for a target."""
        every = range(self.plan.options["replicates"])
        return [r for r in every if all(self.model(on, target, r) in self.trained for on in kinds)]

    @cached_property
    def geometries(self) -> dict[str, Geometry]:
        """The geometry of each target whose models exist or were measured before."""
        geometries = {}
        for target in self.plan.targets if self.plan.options["labels"] else ():
            kinds = (INITIAL, *MODELS)
            models = [self.model(on, target, r) for on in kinds for r in self.replicates_with(target, on)]
            paths = [self.products.path(self.plan.trained[model].name) for model in models]
            products = stored_products(target, paths, self.products.folder.parent / GEOMETRY) if models else None
            if products is not None:
                geometries[target] = Geometry(models, products)
        return geometries

    def directions(self) -> list[dict]:
        """By target and replicate: lengths, ratio and angle (degrees) of the two directions of equation 3.

        `from_initial` is how far training moved each model.
        """
        directions = []
        for target, geometry in self.geometries.items():
            for replicate in self.replicates_with(target, INITIAL, *MODELS):
                model = {on: self.model(on, target, replicate) for on in (INITIAL, *MODELS)}
                to_source, to_target = (geometry.vector(model[BOTH], model[on]) for on in (SOURCE, TARGET))
                lengths = [geometry.length(to_source), geometry.length(to_target)]
                directions.append(
                    {
                        "target": target,
                        "replicate": replicate,
                        "source_norm": lengths[0],
                        "target_norm": lengths[1],
                        "ratio": lengths[0] / lengths[1] if lengths[1] else None,
                        "angle": geometry.angle(to_source, to_target),
                        "from_initial": {
                            on: geometry.length(geometry.vector(model[INITIAL], model[on])) for on in MODELS
                        },
                    }
                )
        return directions

    @cached_property
    def lines(self) -> list[dict]:
        """Curves by language along lines from a model of one language (a = 0) to the model of both (a = 1)."""
        lines = []
        groups = self.grouped(LINE, lambda planned: (planned.job.part, planned.job.on, planned.job.target))
        for (part, on, target), planned_runs in groups.items():
            runs = {planned.replicate: run for planned, run in planned_runs}
            languages = self.languages(next(iter(runs.values())))
            curves = {language: self._curves(runs, target, language) for language in languages}
            lines.append({"part": part, "on": on, "target": target, "points": list(LINE_POINTS), "curves": curves})
        return lines

    def _curves(self, runs: dict[int, Run], target: str, language: str) -> dict:
        """Score, loss, and the score divided by the bilingual model's score at the same replicate."""
        scores = {replicate: self.curve(run, self.metric, language) for replicate, run in runs.items()}
        losses = {replicate: self.curve(run, "loss", language) for replicate, run in runs.items()}
        normalised = {}
        for replicate, curve in scores.items():
            if bilingual := self.score(self.model(BOTH, target, replicate), language):
                normalised[replicate] = [value / bilingual for value in curve]
        return {"score": banded(scores), "normalised": banded(normalised), "loss": banded(losses)}

    def planes(self) -> list[dict]:
        """Planes as rows of scores by language: a2 (towards the target's model) grows by row, a1 within a row."""
        planes = []
        groups = self.grouped(PLANE, lambda planned: (planned.job.part, planned.job.target, planned.replicate))
        for (part, target, replicate), planned_runs in groups.items():
            runs = [run for _, run in sorted(planned_runs, key=lambda pair: pair[0].job.row)]
            scores = {}
            for language in self.languages(runs[0]):
                flat = [value for run in runs for value in self.curve(run, self.metric, language)]
                if len(flat) == len(EVEN) ** 2:
                    scores[language] = np.reshape(flat, (len(EVEN), len(EVEN))).tolist()
            bilingual = {language: self.score(self.model(BOTH, target, replicate), language) for language in scores}
            plane = {"part": part, "target": target, "replicate": replicate}
            planes += [plane | {"axis": list(EVEN), "scores": scores, "bilingual": bilingual}] if scores else []
        return planes

    def seeds(self) -> list[dict]:
        """Lines between the source models of two replicates, with the barrier between them."""
        lines = []
        for planned, run in self.done(SEEDS):
            curves = {}
            for language in self.languages(run):
                scores, losses = (self.curve(run, name, language) for name in (self.metric, "loss"))
                curves[language] = {
                    "score": scores,
                    "loss": losses,
                    "barrier": barrier(LINE_POINTS, [-value for value in scores]),
                    "loss_barrier": barrier(LINE_POINTS, losses),
                }
            line = {"target": planned.job.target, "replicates": [planned.replicate, planned.job.other]}
            lines.append(line | {"points": list(LINE_POINTS), "curves": curves})
        return lines

    def around(self) -> list[dict]:
        """The share of its score that a model keeps along random directions, over all replicates and directions."""
        models = []
        groups = self.grouped(AROUND, lambda planned: (planned.job.on, planned.job.target))
        for (on, target), planned_runs in groups.items():
            kept, radius = {}, {}
            for language in self.languages(planned_runs[0][1]):
                curves = [self.curve(run, self.metric, language) for _, run in planned_runs]
                own = [curve[RADII.index(0.0)] for curve in curves]
                shares = [[value / score for value in curve] for curve, score in zip(curves, own, strict=True) if score]
                kept[language] = banded(dict(enumerate(shares)))
                radius[language] = flat_within(RADII, kept[language]["mean"]) if shares else None
            models.append({"on": on, "target": target, "points": list(RADII), "kept": kept, "radius": radius})
        return models

    def finding(self, target: str) -> dict:
        """The finding for a target, from the line that starts at the source's model and moves all parameters."""
        lines = {(line["target"], line["on"], line["part"]): line["curves"] for line in self.lines}
        curves = lines.get((target, SOURCE, ALL), {})
        if not {self.source, target} <= curves.keys():
            return {"target": target, "replicates": 0}
        return finding(target, curves[self.source]["score"], curves[target]["score"], self.positions(target))

    def positions(self, target: str) -> dict[int, float]:
        """Each replicate's position along the mean way to the bilingual model, in units of a; the first is at 0.

        Its source model is projected on the mean, over replicates, of the ways from source to bilingual model.
        """
        geometry, replicates = self.geometries.get(target), self.replicates_with(target, SOURCE, BOTH)
        if geometry is None or not replicates:
            return {}
        sources = [self.model(SOURCE, target, r) for r in replicates]
        ways = [geometry.vector(source, self.model(BOTH, target, source.replicate)) for source in sources]
        mean_way = np.mean(ways, axis=0)
        return {
            source.replicate: geometry.projection(geometry.vector(sources[0], source), mean_way) for source in sources
        }
