"""Points of a landscape of a toy model with a known quadratic surface."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from seedwise.trainables.landscape import trainable
from seedwise.trainables.landscape.jobs import ALL, AROUND, BOTH, HEAD, LINE, PLANE, SEEDS, SOURCE, TARGET, Job
from seedwise.trainables.landscape.mixing import Parameters
from seedwise.trainables.landscape.subjects import LandscapeInputs
from seedwise.trainables.landscape.trainable import Points
from seedwise.trainables.streams import Streams

TOP = {"source": np.array([1.0, 2.0, 0.5, -1.0]), "target": np.array([-1.0, 0.5, 3.0, 0.25])}
SPREAD = np.array([1.0, 3.0, 0.5, 2.0])
MODELS = {
    SOURCE: np.array([0.9, 2.2, -1.0, 0.0]),
    TARGET: np.array([-1.2, 0.1, 2.0, 1.0]),
    BOTH: np.array([0.2, 1.1, 1.5, -0.5]),
}


def surface(theta: np.ndarray, language: str) -> float:
    """Highest, at 1, where the language's best parameters are."""
    return float(1 - (SPREAD * (theta - TOP[language]) ** 2).sum())


class Toy:
    """A model of four parameters, one of them in the head; its score is the surface itself."""

    def __init__(self, inputs, on, target, params, streams, device):
        self.model = nn.Module()
        self.model.body = nn.Parameter(torch.zeros(1, 3))
        self.model.head = nn.Parameter(torch.zeros(1, 1))
        self.parameters = Parameters(self.model, {"head"})

    def scores(self):
        theta = torch.cat([self.model.body.detach(), self.model.head.detach()], dim=1)[0].numpy().astype(np.float64)
        return {f"dev/macro_f1/{language}": surface(theta, language) for language in TOP}


def named(theta):
    return {"body": theta[None, :3].astype(np.float32), "head": theta[None, 3:].astype(np.float32)}


@pytest.fixture
def evaluated(monkeypatch):
    monkeypatch.setattr(trainable, "_functions", lambda method: SimpleNamespace(subject=Toy))

    def run(job, *models, replicate=0):
        points = Points(
            LandscapeInputs("toy", None, ["target"], {}, "updates"), job.params(), Streams(0, replicate), None
        )
        points.receive([named(model) for model in models])
        return [points.step(number) for number in range(points.steps)]

    return run


def of(points, language):
    return [metrics[f"dev/macro_f1/{language}"] for metrics in points]


@pytest.mark.parametrize("on", [SOURCE, TARGET])
@pytest.mark.parametrize("language", list(TOP))
def test_a_line_over_a_quadratic_is_the_parabola_that_the_formula_gives(evaluated, on, language):
    points = evaluated(Job(LINE, on, "target", ALL), MODELS[on], MODELS[BOTH])
    a = np.array([metrics["point/a"] for metrics in points])
    step, off = MODELS[BOTH] - MODELS[on], MODELS[on] - TOP[language]
    by_hand = 1 - (SPREAD * off**2).sum() - 2 * a * (SPREAD * off * step).sum() - a**2 * (SPREAD * step**2).sum()
    np.testing.assert_allclose(of(points, language), by_hand, atol=1e-4)


@pytest.mark.parametrize("language", list(TOP))
def test_a_plane_over_a_quadratic_is_its_surface_at_every_point(evaluated, language):
    towards = [MODELS[SOURCE] - MODELS[BOTH], MODELS[TARGET] - MODELS[BOTH]]
    for row in (0, 3, 18):
        points = evaluated(Job(PLANE, "", "target", ALL, row=row), MODELS[BOTH], MODELS[SOURCE], MODELS[TARGET])
        thetas = [
            MODELS[BOTH] + metrics["point/a"] * towards[0] + metrics["point/b"] * towards[1] for metrics in points
        ]
        np.testing.assert_allclose(of(points, language), [surface(theta, language) for theta in thetas], atol=1e-4)


def test_only_the_head_moves_where_only_the_head_is_asked_for(evaluated):
    points = evaluated(Job(LINE, SOURCE, "target", HEAD), MODELS[SOURCE], MODELS[BOTH])
    for metrics in points:
        theta = MODELS[SOURCE].copy()
        theta[3] += metrics["point/a"] * (MODELS[BOTH][3] - theta[3])
        assert metrics["dev/macro_f1/target"] == pytest.approx(surface(theta, "target"), abs=1e-4)


def test_the_path_between_a_model_and_itself_is_flat(evaluated):
    scores = of(evaluated(Job(SEEDS, SOURCE, "target", ALL, other=1), MODELS[SOURCE], MODELS[SOURCE]), "target")
    np.testing.assert_allclose(scores, surface(MODELS[SOURCE], "target"), atol=1e-5)


def test_ends_and_corners_are_the_models_to_the_last_bit(evaluated):
    exact = {on: surface(theta.astype(np.float32).astype(np.float64), "target") for on, theta in MODELS.items()}
    line = evaluated(Job(LINE, SOURCE, "target", ALL), MODELS[SOURCE], MODELS[BOTH])
    at = {metrics["point/a"]: metrics["dev/macro_f1/target"] for metrics in line}
    assert (at[0.0], at[1.0]) == (exact[SOURCE], exact[BOTH])
    corners = {}
    for row in range(0, 21, 3):
        for scored in evaluated(Job(PLANE, "", "target", ALL, row=row), MODELS[BOTH], MODELS[SOURCE], MODELS[TARGET]):
            corners[scored["point/a"], scored["point/b"]] = scored["dev/macro_f1/target"]
    assert [corners[point] for point in ((0, 0), (1, 0), (0, 1))] == [exact[BOTH], exact[SOURCE], exact[TARGET]]


def test_random_directions_leave_the_middle_where_it_is_and_differ_between_replicates(evaluated):
    job = Job(AROUND, BOTH, "target", ALL, direction=1)
    first, second = (of(evaluated(job, MODELS[BOTH], replicate=replicate), "target") for replicate in (0, 1))
    middle = first.index(surface(MODELS[BOTH].astype(np.float32).astype(np.float64), "target"))
    assert middle == second.index(first[middle]) == 10
    assert first[:middle] != second[:middle]
    assert np.ptp(np.diff(first, n=2)) < 1e-3 * np.ptp(first)  # a parabola: its second differences are equal
    assert first == of(evaluated(job, MODELS[BOTH], replicate=0), "target")
