import functools
import itertools
import math

import numpy as np
import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from seedwise import spaces
from seedwise.spaces.features import features
from seedwise.spaces.space import Space


def plain(trial):
    return {
        "lr": trial.suggest_float("lr", 1e-4, 1e-2, log=True),
        "epochs": trial.suggest_int("epochs", 5, 15),
        "kind": trial.suggest_categorical("kind", ["a", "b", "c"]),
        "flag": trial.suggest_categorical("flag", [False, True]),
        "fixed": 3,
    }


def conditional(trial):
    params = {"kind": trial.suggest_categorical("kind", ["plain", "rich"])}
    if params["kind"] == "rich":
        params["depth"] = trial.suggest_float("depth", 0.0, 2.0)
        params["mode"] = trial.suggest_categorical("mode", ["x", "y"])
    return params


def made(trial):
    """Parameters with other names than the dimensions; one is sometimes a word."""
    rate = 10 ** trial.suggest_float("exponent", -4, -1)
    return {"rate": rate, "k": trial.suggest_categorical("row", [1, 50, "all"])}


def params(**changes):
    return {"lr": 1e-3, "epochs": 10, "kind": "a", "flag": False, "fixed": 3, **changes}


def distance(space, first, second, *others):
    points = features(space, [first, second, *others])
    return float(np.linalg.norm(points[0] - points[1]))


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ({"lr": 1e-4}, {"lr": 1e-2}, 1.0),
        ({"lr": 1e-4}, {"lr": 1e-3}, 0.5),
        ({"lr": 1e-2}, {"lr": 2e-2}, math.log(2) / math.log(100)),  # enqueued outside the range
        ({"lr": 1e-2}, {"lr": 1e9}, 0.5),  # and far outside the range
        ({"lr": 1e-4}, {"lr": 0.0}, 0.5),  # a degenerate point that a logarithm cannot reach
        ({"epochs": 5}, {"epochs": 15}, 1.0),
        ({"epochs": 5}, {"epochs": 6}, 0.1),
        ({"epochs": 5}, {"epochs": 3}, 0.2),
        ({"kind": "a"}, {"kind": "b"}, 1.0),
        ({"kind": "c"}, {"kind": "b"}, 1.0),
        ({"kind": "c"}, {"kind": "new"}, 1.0),
        ({"flag": False}, {"flag": True}, 1.0),
        ({"kind": "a", "flag": True}, {"kind": "b", "flag": False}, math.sqrt(2)),
        ({"fixed": 3}, {"fixed": 4}, 1.0),  # varied by the configurations, not by the space
        ({}, {}, 0.0),
    ],
)
def test_distances_are_as_computed_by_hand(first, second, expected):
    assert distance(Space(plain), params(**first), params(**second)) == pytest.approx(expected)


def test_only_what_varies_becomes_a_coordinate():
    assert features(Space(plain), [params()]).shape == (1, 6)  # lr, epochs, three kinds, flag; not fixed
    assert features(Space(plain, {"lr": 1e-3, "kind": ["a"]}), [params()]).shape == (1, 2)
    assert features(Space(plain, {"lr": 1e-3, "kind": ["a"]}), [params(), params(lr=1e-2)]).shape == (2, 3)
    assert features(Space(lambda trial: {"fixed": 1}), [{"fixed": 1}] * 3).shape == (3, 0)
    assert features(Space(plain), []).shape == (0, 0)


@pytest.mark.parametrize(
    ("override", "first", "second", "expected"),
    [
        ({"epochs": [5, 10]}, 5, 10, 1.0),
        ({"epochs": {"low": 5, "high": 10, "log": True}}, 5, 10, 1.0),
        ({"epochs": {"choices": [5, 10, 80]}}, 5, 10, 0.5),  # numbers keep their order, evenly spaced
        ({"epochs": {"choices": [5, 10, 80]}}, 10, 45, 0.25),
        ({"epochs": {"choices": [5, 10, "all"]}}, 5, "all", 1.0),  # a mixture is categorical
        ({"epochs": {"choices": [5, 10, "all"]}}, 5, 10.0, 1.0),
    ],
)
def test_an_override_changes_the_scale(override, first, second, expected):
    assert distance(Space(plain, override), params(epochs=first), params(epochs=second)) == pytest.approx(expected)


def test_an_absent_range_is_in_the_middle_with_a_flag_of_its_own():
    rich = [{"kind": "rich", "depth": depth, "mode": "x"} for depth in (0.0, 1.0, 2.0)]
    points = features(Space(conditional), [{"kind": "plain"}, *rich])
    far = [math.sqrt(1 + 1 + 1 + offset**2) for offset in (0.5, 0.0, 0.5)]  # kind, mode, no depth, depth
    np.testing.assert_allclose(cdist(points[:1], points[1:])[0], far)
    always = features(Space(conditional), rich)
    assert np.ptp(always, axis=0).tolist() == [1.0, 0.0, 0.0]  # depth; kind and mode do not vary here: no flags


def test_a_word_among_numbers_has_a_coordinate_of_its_own():
    points = features(Space(plain), [params(epochs=value) for value in (5, 10, 15, "all")])
    np.testing.assert_allclose(cdist(points[3:], points[:3])[0], [math.sqrt(1.25), 1.0, math.sqrt(1.25)])


def test_parameters_that_are_no_dimensions_are_scaled_by_their_values():
    rows = [{"rate": rate, "k": k} for rate, k in ((1e-4, 1), (1e-1, 50), (1e-2, "all"))]
    points = features(Space(made), rows)
    k, rate = points[:, :-1], points[:, -1]
    np.testing.assert_allclose(rate, [0, 1, 2 / 3])  # three decades, so on a logarithmic scale
    np.testing.assert_allclose(k, [[0, 0], [1, 0], [0.5, 1]])


def test_the_papers_rows_are_distinct_points():
    space = spaces.load("stitching", "paper")
    points = features(space, [row for row, _ in space.grid()])
    assert len(np.unique(points, axis=0)) == len(points) == 9


@functools.cache
def drawn(count):
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    space = spaces.load("stitching", "default")
    return space, [space(study.ask()) for _ in range(count)]


def test_points_of_the_default_space_are_finite_distinct_and_in_the_box():
    space, rows = drawn(60)
    points = features(space, rows)
    numbers, flags = 5, 5  # k, tau, exponent, lr, epochs; merge_anchors, centre, renorm, freeze_embeddings, specials
    assert points.shape == (60, numbers + flags + 3 + 5 + 2)  # anchors, weighting or none, no tau, no exponent
    assert points.min() >= 0
    assert points.max() <= 1
    for first, second in itertools.combinations(range(60), 2):
        assert (spaces.config_id(rows[first]) == spaces.config_id(rows[second])) == (
            points[first] == points[second]
        ).all()


@settings(max_examples=20, deadline=None)
@given(st.permutations(range(12)), st.randoms(use_true_random=False))
def test_neither_the_order_of_rows_nor_of_keys_matters(order, generator):
    space, rows = drawn(12)
    shuffled = [dict(generator.sample(sorted(rows[index].items()), len(rows[index]))) for index in order]
    np.testing.assert_array_equal(features(space, shuffled), features(space, rows)[list(order)])
