"""The space of continued pretraining: conditional parameters, dropped parameters, and the four published settings."""

import optuna
import pytest

from seedwise import spaces
from seedwise.errors import RequestError
from seedwise.trainables.dcca.options import REFERENCE

DEFAULT = spaces.load("dcca", "default")
ALIGNED = {"static", "weight", "layer", "pooling", "padding", "words", "word_batch"}
CORRELATED = {"loss", "top_k", "directions", "ridge"}


@pytest.mark.parametrize(("alignment", "there"), [("none", set()), ("mse", ALIGNED), ("dcca", ALIGNED | CORRELATED)])
def test_each_alignment_has_its_own_parameters_and_no_others(alignment, there):
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    drawn = [params for params in (DEFAULT(study.ask()) for _ in range(60)) if params["alignment"] == alignment]
    assert len(drawn) > 5
    for params in [*drawn, DEFAULT.complete({"alignment": alignment})]:
        assert (ALIGNED | CORRELATED) & params.keys() == there


def test_irrelevant_parameters_give_no_new_configuration():
    equal = [
        [{"alignment": "none"}, {"alignment": "none", "weight": 3.0, "top_k": 20}, {"alignment": "mse", "weight": 0.0}],
        [{"alignment": "mse"}, {"alignment": "mse", "top_k": 5, "directions": 32, "ridge": 0.1}],
        [{"loss": "released"}, {"loss": "released", "directions": 32, "ridge": 0.1}],
        [{"tune_epochs": 0}, {"tune_epochs": 0, "tune_lr": 1e-3, "tune_batch_size": 8}],
    ]
    identities = [{spaces.config_id(DEFAULT.complete(params)) for params in group} for group in equal]
    assert [len(group) for group in identities] == [1] * 4
    assert len(set.union(*identities)) == 4
    assert spaces.config_id(DEFAULT.complete({"top_k": 11})) != spaces.config_id(DEFAULT.complete({"top_k": 12}))


def test_the_papers_space_is_table_3_at_the_settings_of_its_section():
    rows = [params for params, _ in spaces.load("dcca", "paper").grid()]
    assert [(row["alignment"], row.get("static")) for row in rows] == [
        ("none", None),
        ("dcca", "fasttext"),
        ("mse", "x2s_ma"),
        ("dcca", "x2s_ma"),
    ]
    for row in rows:
        assert (row["steps"], row["lr"], row["blocks"], row["schedule"], row["clip"]) == (7500, 5e-5, 64, "linear", 1.0)
        assert (row.get("words", 1024), row.get("weight", 1.0), row.get("layer", "last")) == (1024, 1.0, "last")
        assert row.get("pooling", "pieces") == "pieces"


def test_the_released_code_sees_sixty_four_words_at_a_time_with_specials_and_padding():
    space = spaces.load("dcca", {"base": "paper", "static": "x2s_ma"}, "reference")
    (row,) = [params for params, _ in space.grid() if params.get("loss") == "released"]
    assert {key: row[key] for key in REFERENCE} == REFERENCE
    assert (row["words"], row["word_batch"], row["pooling"], row["padding"]) == (1024, 64, "all", "attended")
    with pytest.raises(RequestError, match=r"^space\.pooling: compat: reference fixes it to 'all'"):
        spaces.load("dcca", {"pooling": "cls"}, "reference")


@pytest.mark.parametrize(
    ("space", "message"),
    [
        ({"top_k": 70}, r"^space\.directions: 64 must be at least top_k \(70\)"),
        ({"words": 200}, r"^space\.directions: 64 .*words \(200\)"),
        ({"loss": "released", "top_k": 64}, r"^space\.top_k: 64 must be below word_batch"),
        ({"layer": 0}, r"^space\.layer: 0 is wrong: input should be greater than or equal to 1"),
        ({"weight": -1.0}, r"^space\.weight: -1.0 is wrong: input should be greater than or equal to 0"),
        ({"mask_rate": 1.0}, r"^space\.mask_rate: 1.0 is wrong: input should be less than 1"),
        ({"tune_epochs": -1}, r"^space\.tune_epochs: -1 is wrong: input should be greater than or equal to 0"),
        ({"steps": 0}, r"^space\.steps: 0 is wrong: input should be greater than or equal to 1"),
        ({"pooling": "max"}, r"^space\.pooling: 'max' is wrong: input should be 'pieces', 'all' or 'cls'"),
        ({"epochs": 3}, r"^space\.epochs: there is no such dimension"),
    ],
)
def test_a_wrong_value_names_its_key(space, message):
    with pytest.raises(RequestError, match=message):
        spaces.load("dcca", space)
