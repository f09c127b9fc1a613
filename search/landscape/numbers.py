"""What a landscape found, as numbers: from its ledger and its models to `landscape.json`. Everything shown derives
from these."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from seedwise.search.decide.landscape_plan import Plan, Planned
from seedwise.search.decide.policy import run_name
from seedwise.search.execution.products import Products
from seedwise.search.landscape.geometry import Geometry, kept_products
from seedwise.search.landscape.statistics import banded, barrier, explained, flat_within, linearity, slope
from seedwise.search.ledger.state import DONE, Run, State
from seedwise.search.ranking.estimate import summary
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

GEOMETRY = "geometry.json"  # inner products of models, in the folder of a landscape
LEAST_FLAT = 0.01  # a change of the score that counts as none, however little seeds differ
SIGMAS = 2.0  # of the seeds' spread: a change within them counts as none


@dataclass(frozen=True)
class Numbers:
    """The numbers of a landscape, each part derived once."""

    plan: Plan
    state: State
    products: Products

    @property
    def specification(self) -> dict:
        return self.state.search["specification"]

    @property
    def metric(self) -> str:
        return self.specification["select"]["metric"]

    @property
    def source(self) -> str:
        return self.specification["task"]["source"]

    def all(self) -> dict:
        """Everything, as it stands in `landscape.json`."""
        return {
            "name": self.specification["name"],
            "method": self.specification["method"],
            "baseline": self.specification["landscape"]["baseline"],
            "params": self.plan.params,
            "metric": self.metric,
            "source": self.source,
            "targets": list(self.plan.targets),
            "options": self.specification["landscape"],
            "left_out": self.left_out,
            "models": self.models,
            "directions": self.directions,
            "lines": self.lines,
            "planes": self.planes,
            "seeds": self.seeds,
            "around": self.around,
            "findings": [self.finding(target) for target in self.plan.targets],
        }

    def done(self, *kinds: str) -> Iterator[tuple[Planned, Run]]:
        """The runs of these kinds that have their results."""
        for planned, run in self.plan.with_runs(self.state):
            if planned.job.landscape in kinds and run is not None and run.status == DONE:
                yield planned, run

    @cached_property
    def left_out(self) -> list[str]:
        """The runs that failed, and why. Those that needed them were never started."""
        found = []
        for planned, run in self.plan.with_runs(self.state):
            if run is not None and run.status != DONE and run.finished:
                words = " ".join(str(value) for value in planned.job.params().values())
                found.append(f"{run_name(words, planned.replicate)}: {run.status}, {run.error}")
        return found

    @cached_property
    def trained(self) -> dict[Model, Run]:
        return {Model(one.job.on, one.job.target, one.replicate): run for one, run in self.done(TRAIN)}

    def model(self, on: str, target: str, replicate: int) -> Model:
        return Model.of(on, target, replicate, shared=self.plan.shared)

    def score(self, model: Model, language: str) -> float | None:
        """A trained model's own score, as its training reported it."""
        run = self.trained.get(model)
        return None if run is None else run.metrics.get(f"dev/{self.metric}/{language}")

    def languages(self, run: Run) -> list[str]:
        """Those whose dev sets were evaluated, the source first."""
        return [one for one in (self.source, *self.plan.targets) if f"dev/{self.metric}/{one}" in run.metrics]

    def curve(self, run: Run, name: str, language: str) -> list[float | None]:
        """A metric at all points of a run, in their order."""
        return [run.steps[step].get(f"dev/{name}/{language}") for step in sorted(run.steps)]

    @cached_property
    def models(self) -> list[dict]:
        found = []
        for model, run in self.trained.items():
            scores = {language: run.metrics[f"dev/{self.metric}/{language}"] for language in self.languages(run)}
            file = self.products.path(self.plan.trained[model].name).name
            found.append(vars(model) | {"scores": scores, "file": f"{self.products.folder.name}/{file}"})
        return found

    def having(self, target: str, *kinds: str) -> list[int]:
        """The replicates that have models of all these kinds for a target."""
        every = range(self.plan.options["replicates"])
        return [r for r in every if all(self.model(on, target, r) in self.trained for on in kinds)]

    @cached_property
    def places(self) -> dict[str, tuple[list[Model], Geometry]]:
        """By target: its models, and how they lie to each other, where the models or that are still to be had."""
        found = {}
        for target in self.plan.targets if self.plan.options["labels"] else ():
            some = [self.model(on, target, r) for on in (INITIAL, *MODELS) for r in self.having(target, on)]
            paths = [self.products.path(self.plan.trained[model].name) for model in some]
            products = kept_products(target, paths, self.products.folder.parent / GEOMETRY) if some else None
            if products is not None:
                found[target] = (some, Geometry(products))
        return found

    @cached_property
    def directions(self) -> list[dict]:
        """The two directions of equation 3, by target and replicate: lengths, their ratio, the angle in degrees; and
        how far each of the three models went from where all began."""
        found = []
        for target, (models, geometry) in self.places.items():
            for replicate in self.having(target, INITIAL, *MODELS):
                at = {on: models.index(self.model(on, target, replicate)) for on in (INITIAL, *MODELS)}
                source, other = (geometry.minus(at[on], at[BOTH]) for on in (SOURCE, TARGET))
                lengths = [geometry.length(source), geometry.length(other)]
                moved = {on: geometry.length(geometry.minus(at[on], at[INITIAL])) for on in MODELS}
                row = {"target": target, "replicate": replicate, "source_norm": lengths[0], "target_norm": lengths[1]}
                ratio = lengths[0] / lengths[1] if lengths[1] else None
                found.append(row | {"ratio": ratio, "angle": geometry.angle(source, other), "from_initial": moved})
        return found

    @cached_property
    def lines(self) -> list[dict]:
        """Lines from a model of one language (a = 0) to the one of both (a = 1): curves by language."""
        grouped: dict[tuple, dict[int, Run]] = {}
        for one, run in self.done(LINE):
            grouped.setdefault((one.job.part, one.job.on, one.job.target), {})[one.replicate] = run
        return [
            {
                "part": part,
                "on": on,
                "target": target,
                "points": list(LINE_POINTS),
                "curves": {language: self._curves(runs, target, language) for language in self._shared(runs)},
            }
            for (part, on, target), runs in grouped.items()
        ]

    def _shared(self, runs: dict[int, Run]) -> list[str]:
        return self.languages(next(iter(runs.values())))

    def _curves(self, runs: dict[int, Run], target: str, language: str) -> dict:
        """Score, loss, and score over that of the bilingual model of the same replicate, over replicates."""
        scores = {replicate: self.curve(run, self.metric, language) for replicate, run in runs.items()}
        losses = {replicate: self.curve(run, "loss", language) for replicate, run in runs.items()}
        over = {}
        for replicate, curve in scores.items():
            bilingual = self.score(self.model(BOTH, target, replicate), language)
            if bilingual:
                over[replicate] = [value / bilingual for value in curve]
        return {"score": banded(scores), "normalised": banded(over), "loss": banded(losses)}

    @cached_property
    def planes(self) -> list[dict]:
        """Planes as rows of scores, by language: a2 (towards the target's model) from row to row, a1 within one."""
        grouped: dict[tuple, dict[int, Run]] = {}
        for one, run in self.done(PLANE):
            grouped.setdefault((one.job.part, one.job.target, one.replicate), {})[one.job.row] = run
        found = []
        for (part, target, replicate), runs in grouped.items():
            scores = {}
            for language in self._shared(runs):
                flat = [value for row in sorted(runs) for value in self.curve(runs[row], self.metric, language)]
                if len(flat) == len(EVEN) ** 2:
                    scores[language] = np.reshape(flat, (len(EVEN), len(EVEN))).tolist()
            bilingual = {one: self.score(self.model(BOTH, target, replicate), one) for one in scores}
            place = {"part": part, "target": target, "replicate": replicate}
            found += [place | {"axis": list(EVEN), "scores": scores, "bilingual": bilingual}] if scores else []
        return found

    @cached_property
    def seeds(self) -> list[dict]:
        """Lines between the source models of two replicates, with the height of the barrier between them."""
        found = []
        for one, run in self.done(SEEDS):
            curves = {}
            for language in self.languages(run):
                scores, losses = (self.curve(run, name, language) for name in (self.metric, "loss"))
                curves[language] = {
                    "score": scores,
                    "loss": losses,
                    "barrier": barrier(LINE_POINTS, [-value for value in scores]),
                    "loss_barrier": barrier(LINE_POINTS, losses),
                }
            pair = [one.replicate, one.job.other]
            found.append({"target": one.job.target, "replicates": pair, "points": list(LINE_POINTS), "curves": curves})
        return found

    @cached_property
    def around(self) -> list[dict]:
        """Scores along random directions, as shares of the model's own, over replicates and directions."""
        grouped: dict[tuple, list[Run]] = {}
        for one, run in self.done(AROUND):
            grouped.setdefault((one.job.on, one.job.target), []).append(run)
        found = []
        for (on, target), runs in grouped.items():
            kept, radius = {}, {}
            for language in self.languages(runs[0]):
                curves = [self.curve(run, self.metric, language) for run in runs]
                own = [curve[RADII.index(0.0)] for curve in curves]
                shares = [[value / of for value in curve] for curve, of in zip(curves, own, strict=True) if of]
                kept[language] = banded(dict(enumerate(shares)))
                radius[language] = flat_within(RADII, kept[language]["mean"]) if shares else None
            found.append({"on": on, "target": target, "points": list(RADII), "kept": kept, "radius": radius})
        return found

    def line(self, target: str, language: str) -> dict | None:
        """The curves, in one language, of the line from the source model with all that moves; None if there is none."""
        wanted = (one for one in self.lines if (one["target"], one["on"], one["part"]) == (target, SOURCE, ALL))
        return next((one["curves"].get(language) for one in wanted), None)

    def finding(self, target: str) -> dict:
        """What the line from the source model to the bilingual one says of a target. Numbers that need two replicates
        are None where there is one."""
        source, own = self.line(target, self.source), self.line(target, target)
        if source is None or own is None:
            return {"target": target, "replicates": 0}
        inside = [place for place, a in enumerate(LINE_POINTS) if 0 <= a <= 1]
        begin, end = LINE_POINTS.index(0.0), LINE_POINTS.index(1.0)
        mean, sd = source["score"]["mean"], source["score"]["sd"]
        change = max((mean[place] - mean[begin] for place in inside), key=abs)
        allowed = max(LEAST_FLAT, SIGMAS * sd[begin]) if sd else LEAST_FLAT
        curves = own["score"]["replicates"]
        rise = summary([curve[end] - curve[begin] for curve in curves.values()])
        slopes = summary([slope(LINE_POINTS, curve) for curve in curves.values()])
        spread = own["score"]["sd"][begin] if own["score"]["sd"] else None
        shares = self.along_the_way(target)
        zero_shot = {int(replicate): curve[begin] for replicate, curve in curves.items()}
        target_mean = own["score"]["mean"]
        return {
            "target": target,
            "replicates": len(curves),
            "source_start": mean[begin],
            "source_end": mean[end],
            "source_change": change,
            "source_sd": sd[begin] if sd else None,
            "source_flat": abs(change) <= allowed,
            "target_start": target_mean[begin],
            "target_end": target_mean[end],
            "rise": rise.mean,
            "rise_low": rise.ci_low,
            "rise_high": rise.ci_high,
            "rises": None if rise.ci_low is None else rise.ci_low > 0,
            "linearity": linearity([LINE_POINTS[p] for p in inside], [target_mean[p] for p in inside]),
            "slope": slopes.mean,
            "slope_sd": slopes.sd,
            "source_slope": slope(LINE_POINTS, mean),
            "spread": spread,
            "displacement": float(np.std(list(shares.values()), ddof=1)) if len(shares) > 1 else None,
            "explained": explained(slopes.mean, shares, zero_shot),
        }

    def along_the_way(self, target: str) -> dict[int, float]:
        """Where seeds lie along the way to the bilingual model, in units of a, by replicate; the first is at 0.

        The way is the mean over replicates; where a seed is on it, is its source model projected on it.
        """
        if target not in self.places:
            return {}
        replicates, (models, geometry) = self.having(target, SOURCE, BOTH), self.places[target]
        at = {on: [models.index(self.model(on, target, r)) for r in replicates] for on in (SOURCE, BOTH)}
        steps = [geometry.minus(both, source) for both, source in zip(at[BOTH], at[SOURCE], strict=True)]
        if not steps:
            return {}
        way, first = np.mean(steps, axis=0), at[SOURCE][0]
        places = zip(replicates, at[SOURCE], strict=True)
        return {replicate: geometry.share(geometry.minus(place, first), way) for replicate, place in places}
