"""The EAR space: what cannot matter is dropped, and the paper's tables, written out by hand from the paper."""

import functools

import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seedwise import spaces
from seedwise.errors import RequestError
from seedwise.spaces.dimension import Dimension
from seedwise.spaces.ear import canonical, default
from seedwise.trainables.ear.options import EarOptions

PARAMS = st.fixed_dictionaries(
    {
        "push": st.sampled_from(["ept", "nt", "none"]),
        "pull": st.sampled_from(["apt", "srpt", "none"]),
        "alpha": st.sampled_from([0.0, 1.0]),
        "beta": st.sampled_from([0.0, 0.1]),
        "sigma": st.sampled_from([0.0, 0.1]),
        "layer": st.sampled_from([2, 6]),
        "cap": st.sampled_from([0.0, 1.0]),
        "reduction": st.sampled_from(["mean", "sum"]),
        "attention": st.sampled_from(["words", "padded"]),
        "shared_dropout": st.booleans(),
        "unchanged": st.sampled_from(["skip", "keep"]),
        "epochs": st.sampled_from([1, 2]),
        "redraw": st.sampled_from(["epoch", "once"]),
    }
)


def work(params):
    """What a configuration computes, by equations 1 to 5: first the loss, then how the copies are made."""
    push, pull = params["push"], params["pull"]
    if push == "ept":
        push = ("ept", params["cap"], params["alpha"]) if params["alpha"] else "none"
    if push == "nt":
        push = ("nt", params["sigma"]) if params["sigma"] else "none"
    if pull != "none":
        pull = (pull, params["beta"], params["layer"]) if params["beta"] else "none"
    if pull[0] == "apt":
        pull = (*pull, params["attention"])
    squares = push[0] == "ept" or pull != "none"  # NT is noise and no loss
    dropout_alone = squares and push[0] != "nt" and not params["shared_dropout"]  # the noise between unchanged pairs
    return (
        push,
        pull,
        params["reduction"] if squares else None,
        params["shared_dropout"],
        params["unchanged"] if dropout_alone else None,
        params["epochs"],
        params["redraw"] if params["epochs"] > 1 else None,
    )


def identity(params):
    return spaces.config_id(canonical({**default.defaults, **params}))


@settings(max_examples=300)
@given(PARAMS, PARAMS)
def test_equal_work_has_equal_ids_and_different_work_different_ids(first, second):
    assert (identity(first) == identity(second)) == (work(first) == work(second))


@settings(max_examples=200)
@given(PARAMS, st.data())
def test_changing_an_irrelevant_parameter_keeps_the_id(first, data):
    """Two independent draws are rarely equal work, so the second is derived from the first, key by key."""
    key = data.draw(st.sampled_from(sorted(first)))
    second = {**first, key: data.draw(PARAMS)[key]}
    assert (identity(first) == identity(second)) == (work(first) == work(second))


@pytest.mark.parametrize(
    ("params", "gone"),
    [
        ({}, {"sigma", "unchanged"}),
        ({"shared_dropout": False}, {"sigma"}),
        ({"push": "nt"}, {"alpha", "cap", "unchanged"}),
        ({"push": "nt", "shared_dropout": False}, {"alpha", "cap", "unchanged"}),
        ({"push": "none"}, {"alpha", "cap", "sigma", "unchanged"}),
        ({"pull": "srpt"}, {"sigma", "attention", "unchanged"}),
        ({"pull": "none", "shared_dropout": False}, {"sigma", "beta", "layer", "attention"}),
        ({"push": "nt", "pull": "none"}, {"alpha", "cap", "beta", "layer", "attention", "reduction", "unchanged"}),
        (
            {"push": "none", "pull": "none", "shared_dropout": False},
            {"alpha", "cap", "sigma", "beta", "layer", "attention", "reduction", "unchanged"},
        ),
        ({"epochs": 1}, {"sigma", "unchanged", "redraw"}),
    ],
)
def test_exactly_the_irrelevant_parameters_are_dropped(params, gone):
    kept = canonical({**default.defaults, **params})
    assert default.defaults.keys() - kept.keys() == gone
    assert kept == {key: {**default.defaults, **params}[key] for key in kept}


@pytest.mark.parametrize(
    ("zero", "plain"),
    [
        ({"alpha": 0.0}, {"push": "none"}),
        ({"alpha": 0}, {"push": "none"}),
        ({"push": "nt", "sigma": 0.0}, {"push": "none"}),
        ({"beta": 0.0}, {"pull": "none"}),
        ({"pull": "srpt", "beta": 0}, {"pull": "none"}),
        ({"alpha": 0, "beta": 0}, {"push": "none", "pull": "none"}),
        ({"alpha": 1, "beta": 1}, {"alpha": 1.0, "beta": 1.0}),  # 1 and 1.0 are the same number
    ],
)
def test_a_weight_of_zero_is_no_target(zero, plain):
    space = spaces.load("ear", "default")
    assert space.complete(zero) == space.complete(plain)
    assert spaces.config_id(space.complete(zero)) == spaces.config_id(space.complete(plain))


@functools.cache
def loaded(space, compat):
    return spaces.load("ear", space, compat)


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["default", "paper"]), st.sampled_from(["ours", "reference"]))
def test_a_drawn_configuration_is_canonical_and_accepted_by_the_method(seed, name, compat):
    space = loaded(name, compat)
    drawn = space(optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed)).ask())
    assert space.canonical(drawn) == drawn == space.complete(drawn)
    EarOptions(**drawn)


def test_the_default_space_asks_only_for_relevant_parameters():
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    space, pairs = loaded("default", "ours"), set()
    for _ in range(200):
        trial = study.ask()
        space(trial)
        params = trial.params
        pairs.add((params["push"], params["pull"]))
        assert ("alpha" in params) == (params["push"] == "ept")
        assert ("sigma" in params) == (params["push"] == "nt")
        assert ("beta" in params) == ("layer" in params) == (params["pull"] != "none")
        assert ("attention" in params) == (params["pull"] == "apt")
    assert len(pairs) == 9


def test_the_ranges_are_those_that_make_sense_in_units_of_means():
    """DIGEST 3.5: weights on a log scale in one declared unit; the layers and schedules of the paper's encoders."""
    dimensions = loaded("default", "ours").dimensions
    assert dimensions["alpha"] == Dimension(0.01, 100.0, log=True)
    assert dimensions["beta"] == Dimension(0.01, 1000.0, log=True)
    assert dimensions["layer"] == Dimension(1, 12, integer=True)
    assert dimensions["lr"] == Dimension(5e-6, 5e-5, log=True)
    assert dimensions["epochs"] == Dimension(1, 5, integer=True)
    assert set(dimensions["scale"].choices) == {0.25, 0.5, 0.75, 1.0}
    assert default.defaults["reduction"] == "mean"


def test_the_degenerate_point_and_the_papers_setting_go_first():
    degenerate, paper = loaded("default", "ours").first()
    assert (degenerate["push"], degenerate["pull"]) == ("none", "none")
    assert [paper[key] for key in ("push", "pull", "alpha", "beta", "layer")] == ["ept", "apt", 1.0, 0.1, 6]

    def first(**overrides):
        return [params["push"] for params in spaces.load("ear", overrides).first()]

    assert first(layer=[1, 4]) == ["none"]  # the paper's layer is not in this space
    assert first(push="ept") == ["ept"]  # nor is the degenerate point in this one
    assert first(alpha=[0.1, 10.0], beta=[0.1, 10.0]) == ["none", "ept"]
    assert first(lr=1e-3, copies=2) == ["none", "ept"]
    assert {(row["lr"], row["copies"]) for row in spaces.load("ear", {"lr": 1e-3, "copies": 2}).first()} == {(1e-3, 2)}


# Tables 3, 4, 6 and A.1 to A.3: push, alpha, pull, beta, layer, share of the dictionary.
EAR = ("ept", 1.0, "apt", 0.1, 6, 1.0)
TABLES = {
    "1 and 2": [EAR],
    "3": [
        EAR,
        ("none", None, "apt", 0.1, 6, 1.0),
        ("ept", 1.0, "none", None, None, 1.0),
        ("none", None, "none", None, None, 1.0),
    ],
    "4": [EAR, ("nt", None, "apt", 0.1, 6, 1.0), ("ept", 1.0, "srpt", 0.1, 6, 1.0)],
    "6": [
        EAR,
        ("ept", 1.0, "apt", 0.1, 6, 0.75),
        ("ept", 1.0, "apt", 0.1, 6, 0.5),
        ("ept", 1.0, "apt", 0.1, 6, 0.25),
    ],
    "A.1": [
        ("ept", 1.0, "apt", 1.0, 3, 1.0),
        ("ept", 1.0, "apt", 1.0, 6, 1.0),
        ("ept", 1.0, "apt", 1.0, 9, 1.0),
        ("ept", 1.0, "apt", 1.0, 12, 1.0),
    ],
    "A.2": [
        EAR,
        ("ept", 1.0, "apt", 0.2, 6, 1.0),
        ("ept", 1.0, "apt", 0.3, 6, 1.0),
        ("ept", 1.0, "apt", 0.5, 6, 1.0),
        ("ept", 1.0, "apt", 0.7, 6, 1.0),
        ("ept", 1.0, "apt", 0.9, 6, 1.0),
    ],
    "A.3": [
        ("ept", 0.6, "apt", 0.1, 6, 1.0),
        ("ept", 0.8, "apt", 0.1, 6, 1.0),
        EAR,
        ("ept", 1.2, "apt", 0.1, 6, 1.0),
        ("ept", 1.4, "apt", 0.1, 6, 1.0),
        ("ept", 1.6, "apt", 0.1, 6, 1.0),
        ("ept", 1.8, "apt", 0.1, 6, 1.0),
    ],
}


@pytest.mark.parametrize("compat", ["ours", "paper", "reference"])
@pytest.mark.parametrize(("space", "copies"), [("paper", 3), ({"base": "paper", "copies": 10}, 10)])
def test_the_papers_grid_is_its_tables_with_the_row_they_share_once(space, copies, compat):
    loaded_space = spaces.load("ear", space, compat)
    rows = [params for params, _ in loaded_space.grid()]
    keys = ("push", "alpha", "pull", "beta", "layer", "scale")
    assert {tuple(row.get(key) for key in keys) for row in rows} == {row for rows in TABLES.values() for row in rows}
    assert len(rows) == sum(map(len, TABLES.values())) - 5 == 24
    assert loaded_space.size() == "24 configurations"
    assert {(row["lr"], row["epochs"], row["batch_size"], row["copies"]) for row in rows} == {(2e-5, 1, 32, copies)}


PAPER = {  # the text, and its printed formulas
    "reduction": "sum",
    "cap": 0.0,
    "shared_dropout": False,
    "attention": "tokens",
    "unchanged": "keep",
    "matching": "exact",
    "redraw": "once",
    "head": "linear",
}
COMPAT = {
    "paper": PAPER,
    "reference": {**PAPER, "reduction": "mean", "attention": "padded", "head": "released"},  # DIGEST 3.2, 3.4, E3 to E7
}


@pytest.mark.parametrize("compat", COMPAT)
def test_compat_fixes_what_the_paper_or_its_code_decided(compat):
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    space, fixed = loaded("default", compat), COMPAT[compat]
    trials = [study.ask() for _ in range(50)]
    drawn = [space(trial) for trial in trials]
    for params in drawn:
        assert all(params[key] == value for key, value in fixed.items() if key in params)
    assert any(fixed.items() <= params.items() for params in drawn)  # none of them is dropped everywhere
    assert not any(trial.params.keys() & fixed for trial in trials)
    assert space.complete({"epochs": 2}).items() >= fixed.items()
    own = loaded("default", "ours").complete({"epochs": 2, "shared_dropout": False})
    assert all(own[key] != value for key, value in PAPER.items() if key != "shared_dropout")


@pytest.mark.parametrize("compat", COMPAT)
@pytest.mark.parametrize(
    ("key", "other"),
    [
        ("cap", 1.0),
        ("shared_dropout", True),
        ("attention", "words"),
        ("unchanged", "skip"),
        ("matching", "loose"),
        ("redraw", "epoch"),
        ("head", "standard"),
        ("reduction", ["mean", "sum"]),
    ],
)
def test_an_override_that_contradicts_compat_is_an_error(compat, key, other):
    value = COMPAT[compat][key]
    with pytest.raises(RequestError) as error:
        spaces.load("ear", {key: other}, compat)
    assert str(error.value) == f"space.{key}: compat: {compat} fixes it to {value!r}. Remove one of the two."
    assert spaces.load("ear", {key: value}, compat).complete({}) == loaded("default", compat).complete({})


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"alpha": -1.0}, "space.alpha: -1.0 is wrong: input should be greater than or equal to 0."),
        ({"beta": {"choices": [-0.5]}}, "space.beta: -0.5 is wrong: input should be greater than or equal to 0."),
        ({"layer": 0}, "space.layer: 0 is wrong: input should be greater than or equal to 1."),
        ({"copies": 0}, "space.copies: 0 is wrong: input should be greater than or equal to 1."),
        ({"scale": 0.0}, "space.scale: 0.0 is wrong: input should be greater than 0."),
        ({"scale": 1.5}, "space.scale: 1.5 is wrong: input should be less than or equal to 1."),
        ({"push": "etp"}, "space.push: 'etp' is wrong: input should be 'ept', 'nt' or 'none'."),
        ({"attention": "word"}, "space.attention: 'word' is wrong: input should be 'words', 'tokens' or 'padded'."),
        ({"sharded_dropout": True}, "space.sharded_dropout: there is no such dimension. Did you mean shared_dropout?"),
    ],
)
def test_a_value_that_the_method_refuses_is_found_before_any_run(overrides, message):
    with pytest.raises(RequestError) as error:
        spaces.load("ear", overrides)
    assert str(error.value) == message
