import itertools

import numpy as np
import optuna
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedwise import spaces
from seedwise.errors import RequestError
from seedwise.spaces.features import features
from seedwise.spaces.space import Space
from seedwise.spaces.stitching import ROWS, canonical, default
from seedwise.spaces.trials import scripted
from seedwise.trainables.stitching.options import StitchingOptions


def small(trial):
    """A conditional space whose size is easily counted by hand: 2 + 3 x 2 = 8."""
    if trial.suggest_categorical("kind", ["plain", "rich"]) == "plain":
        return {"kind": "plain", "n": trial.suggest_int("n", 1, 2)}
    return {
        "kind": "rich",
        "m": trial.suggest_int("m", 1, 5, step=2),
        "flag": trial.suggest_categorical("flag", [0, 1]),
    }


def test_the_grid_of_a_conditional_space_is_every_point_once():
    points = [params for params, _ in Space(small).grid()]
    plain = [{"kind": "plain", "n": n} for n in (1, 2)]
    rich = [{"kind": "rich", "m": m, "flag": flag} for m, flag in itertools.product((1, 3, 5), (0, 1))]
    assert points == plain + rich
    assert Space(small).size() == "8 configurations"


def test_dimensions_of_all_branches_are_known():
    assert set(Space(small).dimensions) == {"kind", "n", "m", "flag"}


@pytest.mark.parametrize(
    ("override", "values"),
    [
        ({"m": 3}, {3}),
        ({"m": [3, 5]}, {3, 5}),
        ({"m": {"choices": [4, 9]}}, {4, 9}),
        ({"m": [1, 2, 7]}, {1, 2, 7}),
        ({"m": {"high": 3}}, {1, 3}),
        ({"kind": ["rich"], "m": {"low": 2, "high": 4, "step": 1}}, {2, 3, 4}),
    ],
)
def test_an_override_narrows_fixes_or_replaces(override, values):
    points = {params["m"] for params, _ in Space(small, override).grid() if params["kind"] == "rich"}
    assert points == values


def test_an_unknown_dimension_names_the_nearest():
    with pytest.raises(RequestError, match=r"space.flg: there is no such dimension. Did you mean flag?"):
        Space(small, {"flg": 1})


def test_the_papers_grid_is_its_tables():
    rows = [params for params, _ in spaces.load("stitching", "paper").grid()]
    assert len(rows) == len(ROWS) == 9
    table_3 = [p["k"] for p in rows if p.get("weighting", "standard") == "standard" and p["anchors"] == "all"]
    assert table_3 == [1, 10, 50, 100, "all"]
    assert [(p["k"], p["anchors"]) for p in rows if p["anchors"] != "all"] == [("all", 500), ("all", 3000)]
    assert {(p["lr"], p["epochs"], p["batch_size"], p["accumulation"]) for p in rows} == {(1e-5, 15, 32, 4)}


PARAMS = st.fixed_dictionaries(
    {
        "k": st.sampled_from([1, 2, 50, "all"]),
        "weighting": st.sampled_from(["standard", "softmax", "sparsemax", "entmax"]),
        "tau": st.sampled_from([0.1, 1.0]),
        "exponent": st.sampled_from([1.2, 1.5, 2.0, 2.9]),
        "freeze_embeddings": st.booleans(),
        "specials": st.sampled_from(["tuned", "pretrained"]),
    }
)


@given(PARAMS, PARAMS)
def test_equal_work_has_equal_ids_and_different_work_different_ids(first, second):
    """The equalities of the paper's formulas, written down a second time: what a configuration really computes."""

    def work(params):
        weighting = "nearest" if params["k"] == 1 else params["weighting"]
        return (
            params["k"],
            weighting,
            params["tau"] if weighting not in ("nearest", "standard") else None,
            params["exponent"] if weighting == "entmax" else None,
            params["freeze_embeddings"],
            "pretrained" if params["freeze_embeddings"] else params["specials"],
        )

    def identity(params):
        return spaces.config_id(canonical({**default.defaults, **params}))

    assert (identity(first) == identity(second)) == (work(first) == work(second))


@given(PARAMS)
def test_the_canonical_form_is_stable_and_accepted_by_the_method(params):
    once = canonical({**default.defaults, **params})
    assert canonical({**default.defaults, **once}) == once
    StitchingOptions(**once)


def test_the_default_space_asks_only_for_relevant_parameters():
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    space = spaces.load("stitching", "default")
    for _ in range(300):
        trial = study.ask()
        space(trial)
        params = trial.params
        assert ("weighting" in params) == (params["k"] > 1)
        assert ("tau" in params) == (params.get("weighting", "standard") != "standard")
        assert ("exponent" in params) == (params.get("weighting") == "entmax")


def test_the_exponent_reaches_past_sparsemax():
    """Beyond 2, a value is proposed, kept, accepted by the method, and inside the box of the features."""
    space = spaces.load("stitching", "default")
    fixed = {"k": 50, "weighting": "entmax", "tau": 0.1, "lr": 1e-5, "epochs": 5, "anchors": "all"}
    switches = dict.fromkeys(("merge_anchors", "centre", "renorm", "freeze_embeddings"), False)
    rows = [space(scripted({**fixed, **switches, "exponent": exponent})) for exponent in (1.1, 2.05, 3.0)]
    assert [row["exponent"] for row in rows] == [1.1, 2.05, 3.0]
    assert [StitchingOptions(**row).exponent for row in rows] == [1.1, 2.05, 3.0]
    points = features(space, rows)
    np.testing.assert_allclose(np.linalg.norm(points - points[0], axis=1), [0, 0.5, 1])
    assert len({spaces.config_id(row) for row in rows}) == 3
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    drawn = [space(study.ask()).get("exponent", 0) for _ in range(200)]
    assert 2 < max(drawn) <= 3
