"""The worlds of the benchmark: their true means must be true, or every figure made with them is wrong."""

import math
import random

import numpy as np
import pytest

from benchmarks.worlds import FRESH, Bumps, Digits, DigitsApart, _table
from seedwise.spaces import Space, config_id
from seedwise.spaces.trials import RandomTrial

WORLDS = [Bumps(3), Digits(3)]


def some(world, count):
    space, trial = Space(world.space), RandomTrial(random.Random(1))
    return [space(trial) for _ in range(count)]


@pytest.mark.parametrize("number", range(3))
def test_the_truth_of_bumps_is_the_mean_of_many_scores(number):
    world = Bumps(3)
    params = some(world, 3)[number]
    scores = np.array([world.score(params, replicate) for replicate in range(3000)])
    assert abs(scores.mean() - world.truth(params)) < 4 * scores.std() / math.sqrt(len(scores))


@pytest.mark.parametrize("kind", ["reports", "fails"])
def test_a_collapsing_configuration_is_worth_what_it_gives_on_average(kind):
    world = Bumps(3)
    params = next(params for params in some(world, 2000) if world._kind(params) == kind)
    scores = np.array([world.score(params, replicate) for replicate in range(3000)])
    assert np.isnan(scores).any() == (kind == "fails")
    filled = np.where(np.isnan(scores), world.FLOOR, scores)
    assert abs(filled.mean() - world.truth(params)) < 4 * filled.std() / math.sqrt(len(filled))
    assert world.truth(params) < world._mean(params)


def test_replicates_of_bumps_are_paired():
    world = Bumps(3)
    good = [params for params in some(world, 200) if not world._kind(params)][:100]
    table = np.array(
        [[world.score(params, replicate) - world.truth(params) for replicate in range(20)] for params in good]
    )
    effects = table.mean(0)
    assert 0.5 < effects.std() < 1.7  # independent noise alone would leave a tenth of its own sd, about 0.4


@pytest.mark.parametrize("world", WORLDS, ids=["bumps", "digits"])
def test_scores_do_not_depend_on_the_order_of_calls(world):
    runs = [(params, replicate) for params in some(world, 5) for replicate in (0, 1, FRESH)]
    forwards = [world.score(*run) for run in runs]
    other = type(world)(3)
    backwards = [other.score(*run) for run in reversed(runs)]
    np.testing.assert_array_equal(forwards, backwards[::-1])
    assert len(set(forwards)) > 5


@pytest.mark.parametrize("world", [*WORLDS, Bumps(4)], ids=["bumps", "digits", "bumps 4"])
def test_no_configuration_is_better_than_the_best(world):
    truths = [world.truth(params) for params in some(world, 2000)]
    assert max(truths) <= world.best + 1e-9


def test_bumps_climbs_to_the_same_best_from_elsewhere():
    world, generator = Bumps(3), np.random.default_rng(5)
    best = -math.inf
    for schedule in range(3):
        point = max(generator.random((20_000, 5)), key=lambda candidate: world.values(candidate[None], schedule)[0])
        for step in np.geomspace(0.1, 1e-4, 300):
            near = np.clip(point + step * generator.standard_normal((20, 5)), 0, 1)
            near = np.concatenate([near, point[None]])
            point = near[world.values(near, schedule).argmax()]
        best = max(best, float(world.values(point[None], schedule)[0]))
    assert world.best == pytest.approx(best, abs=0.01)


def test_a_point_of_digits_becomes_a_row_of_the_table():
    world = Digits(0)
    rows = {config_id(params) for params in _table().params}
    for params in some(world, 30):
        assert config_id(params) in rows
        assert Space(world.space).canonical(params) == params
    assert len(rows) == len(_table().params) == 240


def test_a_point_beside_taken_rows_is_the_nearest_other_row():
    world = Digits(0)
    point = some(world, 1)[0]
    first = world.others(point, [])
    second = world.others(point, [first])
    assert first == point
    assert world.others(point, [second, first]) not in (first, second)
    assert config_id(second) in {config_id(params) for params in _table().params} - {config_id(first)}


def test_points_of_digits_apart_have_distinct_rows_and_keep_them():
    world = DigitsApart(0)
    points = some(world, 60)
    first = [world.score(params, 0) for params in points]
    assert len(set(world.rows.values())) == len({config_id(params) for params in points})
    assert [world.score(params, 0) for params in points] == first
    row = world.rows[config_id(points[7])]
    assert world.truth(points[7]) == pytest.approx(_table().scores[row].mean(dtype=np.float64))


def test_the_truth_of_digits_is_the_mean_of_its_columns():
    world = Digits(5)
    params = _table().params[17]
    search = [world.score(params, replicate) for replicate in range(36)]
    fresh = [world.score(params, replicate) for replicate in range(FRESH, FRESH + 12)]
    assert np.mean(search + fresh) == pytest.approx(world.truth(params))
    np.testing.assert_allclose(np.sort(search + fresh), np.sort(_table().scores[17]))


def test_fresh_replicates_are_disjoint_from_the_search():
    world = Digits(5)
    search = {world.column(replicate) for replicate in range(FRESH)}
    fresh = {world.column(replicate) for replicate in range(FRESH, FRESH + 100)}
    assert (len(search), len(fresh), search & fresh) == (36, 12, set())


def test_every_repetition_shuffles_the_seeds():
    assert not np.array_equal(Digits(0).order, Digits(1).order)
