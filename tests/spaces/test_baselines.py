"""The spaces of the baselines, counted and written out by hand."""

import itertools
import math

import optuna
import pytest

import spaces
from search.errors import RequestError
from spaces.baselines import FUNCTIONS, baseline_space
from spaces.space import Space
from trainables.options import TrainingOptions

METHOD = spaces.load("stitching", "default")


def grid(name, of=METHOD, **overrides):
    return [params for params, _ in baseline_space(name, of, overrides).grid()]


def test_least_squares_is_three_maps_at_three_rates():
    points = grid("ls")
    found = {(params["map"], params.get("strength"), params["lr"]) for params in points}
    maps = [("plain", None), ("ridge", 1.0), ("orthogonal", None)]
    assert found == {(*kind, rate) for kind, rate in itertools.product(maps, (5e-6, 1.58e-5, 5e-5))}
    assert len(points) == 9


def test_the_others_are_their_products():
    assert {(params["c"], params["normalise"]) for params in grid("lr")} == set(
        itertools.product((0.1, 1.0, 10.0, 100.0), (False, True))
    )
    assert [params["lr"] for params in grid("zero_shot")] == [5e-6, 1.58e-5, 5e-5]
    assert grid("constant") == [{"baseline": "constant"}]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_configuration_says_whose_it_is_and_has_an_id_of_its_own(name):
    space = baseline_space(name, METHOD, {})
    found = [params for params, _ in space.grid()]
    assert {params["baseline"] for params in found} == {name}
    others = [params for other in FUNCTIONS if other != name for params in grid(other)]
    others += [METHOD.complete({"k": 1}), METHOD.complete({})]
    assert not {spaces.config_id(params) for params in found} & {spaces.config_id(params) for params in others}
    assert [space.canonical(params) for params in found] == found


@pytest.mark.parametrize("name", FUNCTIONS)
def test_optuna_can_draw_from_each(name):
    space = baseline_space(name, METHOD, {})
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    points = [params for params, _ in space.grid()]
    assert all(space(study.ask()) in points for _ in range(20))


def test_a_range_of_rates_becomes_its_ends_and_their_geometric_middle_and_the_longest_training_is_taken():
    of = spaces.load("stitching", {"lr": [1e-5, 4e-3], "epochs": [3, 9]})
    for name in ("ls", "zero_shot"):
        found = grid(name, of)
        assert {params["lr"] for params in found} == {1e-5, 2e-4, 4e-3}
        assert math.sqrt(1e-5 * 4e-3) == pytest.approx(2e-4)
        assert {params["epochs"] for params in found} == {9}
    assert {params["epochs"] for params in grid("ls")} == {40}


def test_choices_of_the_method_are_treated_as_the_range_they_span():
    of = spaces.load("stitching", {"lr": {"choices": [1e-4, 1e-3, 1e-2]}, "epochs": {"choices": [4, 20, 7]}})
    assert [(params["lr"], params["epochs"]) for params in grid("zero_shot", of)] == [
        (1e-4, 20),
        (1e-3, 20),
        (1e-2, 20),
    ]


def test_what_the_method_fixes_is_fixed_alike():
    fixed = {"lr": 0.002, "epochs": 6, "batch_size": 8, "precision": "bf16", "anchors": 500, "stop_words": "drop"}
    of = spaces.load("stitching", fixed)
    for params in grid("ls", of):
        assert {key: params[key] for key in fixed} == fixed
    assert len(grid("ls", of)) == 3
    (only,) = grid("zero_shot", of)
    assert {key: only[key] for key in ("lr", "epochs", "batch_size", "precision")} == {
        key: fixed[key] for key in ("lr", "epochs", "batch_size", "precision")
    }
    assert "anchors" not in only  # it has none


def test_what_the_method_sets_without_asking_is_taken_too():
    """The paper's procedure is neither a dimension nor an override of its space."""
    for name in ("ls", "zero_shot"):
        for params in grid(name, spaces.load("stitching", "paper")):
            assert (params["lr"], params["epochs"], params["batch_size"], params["accumulation"]) == (1e-5, 15, 32, 4)


def test_the_anchors_of_the_paper_are_those_of_least_squares_too():
    assert {params["anchor_casing"] for params in grid("ls", spaces.load("stitching", "default", "paper"))} == {"exact"}
    assert {params["anchor_casing"] for params in grid("ls")} == {"any"}


def test_what_else_the_method_varies_stays_at_its_default():
    of = spaces.load("stitching", {"weight_decay": [0.0, 0.1]})
    assert {params["weight_decay"] for params in grid("zero_shot", of)} == {TrainingOptions().weight_decay}
    assert {params["freeze_embeddings"] for params in grid("ls", of)} == {False}
    assert {params["anchors"] for params in grid("ls", of)} == {"all"}


def test_own_overrides_win():
    of = spaces.load("stitching", {"lr": 0.002, "epochs": 6})
    assert {params["lr"] for params in grid("ls", of, lr=[1e-5, 3e-5])} == {1e-5, 3e-5}
    assert [params["epochs"] for params in grid("zero_shot", of, epochs=2)] == [2]
    assert {params["map"] for params in grid("ls", of, map="plain")} == {"plain"}
    assert {params["c"] for params in grid("lr", of, c=3)} == {3.0}


@pytest.mark.parametrize(
    ("name", "overrides", "message"),
    [
        ("ls", {"mop": "plain"}, r"^baselines\.ls\.mop: there is no such dimension. Did you mean map\?"),
        ("ls", {"k": 5}, r"^baselines\.ls\.k: there is no such dimension"),
        ("ls", {"strength": 0.0, "map": "ridge"}, r"^baselines\.ls\.strength: 0.0 must be above 0"),
        ("ls", {"lr": {"low": 1e-5, "high": 1e-4}}, r"^baselines\.ls\.lr: all values are tried. Write"),
        ("ls", {"map": "linear"}, r"^baselines\.ls\.map: 'linear' is not one of plain, ridge, orthogonal"),
        ("lr", {"c": -1}, r"^baselines\.lr\.c: -1.0 must be above 0"),
        ("constant", {"baseline": "ls"}, r"^baselines\.constant\.baseline: 'ls' is not 'constant'"),
    ],
)
def test_a_wrong_override_names_its_key(name, overrides, message):
    with pytest.raises(RequestError, match=message):
        baseline_space(name, METHOD, overrides)


def test_the_functions_alone_are_finite():
    assert [Space(function).size() for function in FUNCTIONS.values()] == [
        "9 configurations",
        "8 configurations",
        "3 configurations",
        "1 configurations",
    ]
