"""The points and the weights of the models there, against the paper's list and equations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedwise.trainables.landscape.jobs import (
    ALL,
    AROUND,
    BOTH,
    EVEN,
    INITIAL,
    LINE,
    LINE_POINTS,
    PLANE,
    ROWS,
    SEEDS,
    SOURCE,
    TARGET,
    TRAIN,
    Job,
    Model,
    jobs,
)

OPTIONS = {
    "replicates": 3,
    "labels": True,
    "parts": ["all", "encoder", "head"],
    "plane": {"replicates": 1, "parts": ["all"]},
    "directions": 2,
}
# As the paper's appendix prints them.
PRINTED = "-.5 -.4 -.3 -.2 -.1 0 .025 .05 .075 .1 .125 .15 .175 .2 .3 .4 .5 .6 .7 .8 .825 .85 .875 .9 .925 .95 .975 1 "
PRINTED += "1.1 1.2 1.3 1.4 1.5"


def test_a_line_has_the_33_points_of_the_paper_and_a_plane_its_441():
    assert [float(text) for text in PRINTED.split()] == list(LINE_POINTS)
    assert len(LINE_POINTS) == 33
    rows = [Job(PLANE, "", "x", ALL, row=row).points() for row in range(0, len(EVEN), ROWS)]
    points = [point for some in rows for point in some]
    assert len(points) == len(set(points)) == 441
    assert points == [(x, y) for y in EVEN for x in EVEN]


def thetas():
    return {on: np.array(values) for on, values in ((SOURCE, [1.0, 5.0]), (TARGET, [-2.0, 3.0]), (BOTH, [0.5, -7.0]))}


def at(job, point):
    """The weighted sum of the models that a job names, for these numbers as their parameters."""
    models = [thetas()[part.on] for part in job.models(0, shared=False)]
    return sum(weight * model for weight, model in zip(job.weights(point), models, strict=True))


@pytest.mark.parametrize("on", [SOURCE, TARGET])
@pytest.mark.parametrize("a", LINE_POINTS)
def test_a_line_is_equation_1_or_2(on, a):
    theta = thetas()
    np.testing.assert_allclose(at(Job(LINE, on, "x", ALL), (a,)), a * theta[BOTH] + (1 - a) * theta[on], atol=1e-12)


@given(st.sampled_from(EVEN), st.sampled_from(EVEN))
def test_a_plane_is_equation_3(a1, a2):
    theta = thetas()
    printed = theta[BOTH] + a1 * (theta[SOURCE] - theta[BOTH]) + a2 * (theta[TARGET] - theta[BOTH])
    np.testing.assert_allclose(at(Job(PLANE, "", "x", ALL), (a1, a2)), printed, atol=1e-12)


def test_at_the_ends_one_model_weighs_exactly_1_and_the_others_nothing():
    for on in (SOURCE, TARGET):
        job = Job(LINE, on, "x", ALL)
        assert [job.weights((a,)) for a in (0.0, 1.0)] == [(1.0, 0.0), (0.0, 1.0)]
    plane = Job(PLANE, "", "x", ALL)
    corners = [plane.weights(point) for point in ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0))]
    assert corners == [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)]
    assert all({0.0, 1.0} <= {value for point in some for value in point} for some in (job.points(), [EVEN]))


def test_parameters_of_a_job_come_back_beside_those_of_the_method():
    job = Job(SEEDS, SOURCE, "qan", ALL, other=2)
    params = {**job.params(), "k": 10, "layer": 3}
    assert "direction" not in params
    assert Job.split(params) == (job, {"k": 10, "layer": 3})


@pytest.mark.parametrize("shared", [True, False])
def test_there_are_as_many_runs_as_the_arithmetic_says(shared):
    planned = list(jobs(["a", "b"], OPTIONS, shared=shared))
    counts = {kind: sum(job.landscape == kind for job, _ in planned) for kind in (TRAIN, LINE, PLANE, SEEDS, AROUND)}
    own = 1 if shared else 2  # source models, and initial models
    assert counts == {
        TRAIN: 3 * (2 * own + 2 * 2),
        LINE: 3 * 3 * 2 * 2,  # replicates, parts, directions, targets
        PLANE: 7 * 2,
        SEEDS: 3 * own,  # pairs of three replicates
        AROUND: 2 * 3 * (own + 2 * 2),
    }
    assert len(set(planned)) == len(planned)


@pytest.mark.parametrize("shared", [True, False])
def test_every_model_that_a_run_needs_is_trained_before_it(shared):
    trained = set()
    for job, replicate in jobs(["a", "b"], OPTIONS, shared=shared):
        assert set(job.models(replicate, shared=shared)) <= trained
        if job.landscape == TRAIN:
            trained.add(Model(job.on, job.target, replicate))
    assert {model.on for model in trained} == {INITIAL, SOURCE, TARGET, BOTH}


def test_without_labels_no_run_has_to_do_with_target_labels():
    planned = list(jobs(["a", "b"], OPTIONS | {"labels": False}, shared=False))
    assert {(job.landscape, job.on) for job, _ in planned} == {
        (TRAIN, INITIAL),
        (TRAIN, SOURCE),
        (SEEDS, SOURCE),
        (AROUND, SOURCE),
    }
