"""The spaces of the baselines, compared with lists by hand."""

import functools
import itertools
import math

import optuna
import pytest

from seedwise import spaces
from seedwise.errors import RequestError
from seedwise.spaces import space as module
from seedwise.spaces.baselines import baseline_space
from seedwise.trainables.methods import spec_of
from seedwise.trainables.training.options import TrainingOptions

METHOD = spaces.load("stitching", "default")
EAR = spaces.load("ear", "default")
DCCA = spaces.load("dcca", "default")
SPACES = {"stitching": METHOD, "dcca": DCCA, "ear": EAR}
METHODS = {name: method for method in SPACES for name in spec_of(method).baselines}
OF_EAR = tuple(spec_of("ear").baselines)
WALKS = module.WALKS


@pytest.fixture(autouse=True)
def fewer_walks(monkeypatch):
    """A hundred seeded random walks find all parameters of spaces as small as these."""
    monkeypatch.setattr(module, "WALKS", 100)


def grid(name, of=None, lengths="grid", **overrides):
    space = baseline_space(METHODS[name], name, of or SPACES[METHODS[name]], overrides, lengths)
    return [params for params, _ in space.grid()]


@functools.cache
def default_grid(name):
    return grid(name)


def test_every_method_has_baselines():
    assert {method: tuple(spec_of(method).baselines) for method in SPACES} == {
        "stitching": ("ls", "lr", "zero_shot", "constant"),
        "dcca": ("untouched", "mlm", "mse"),
        "ear": ("plain", "rs_da", "rs_rp", "adv"),
    }


def test_least_squares_is_three_maps_at_three_rates_and_three_lengths():
    points = grid("ls")
    rows = {(params["map"], params.get("strength"), params["lr"], params["epochs"]) for params in points}
    maps = [("plain", None), ("ridge", 1.0), ("orthogonal", None)]
    trainings = itertools.product((5e-6, 1.58e-5, 5e-5), (5, 14, 40))  # 14 is sqrt(5 x 40)
    assert rows == {(*kind, *training) for kind, training in itertools.product(maps, trainings)}
    assert len(points) == 27


def test_other_baselines_are_products_of_their_choices():
    assert {(params["c"], params["normalise"]) for params in grid("lr")} == set(
        itertools.product((0.1, 1.0, 10.0, 100.0), (False, True))
    )
    assert [(params["lr"], params["epochs"]) for params in grid("zero_shot")] == list(
        itertools.product((5e-6, 1.58e-5, 5e-5), (5, 14, 40))
    )
    assert grid("constant") == [{"baseline": "constant"}]


def test_a_default_grid_is_small():
    """Maps of LS share their trainings, so nine of its runs train a model."""
    sizes = {"ls": 27, "lr": 8, "zero_shot": 9, "constant": 1, "plain": 9, "rs_da": 9, "rs_rp": 11, "adv": 14}
    sizes |= {"untouched": 1, "mlm": 9, "mse": 11}
    assert {name: len(default_grid(name)) for name in METHODS} == sizes


@pytest.mark.parametrize("epochs", [[5, 40], [20, 40], [2, 4], {"choices": [30, 4]}, {"choices": [4, 20, 7, 9]}, 12])
@pytest.mark.parametrize("name", ["ls", "zero_shot"])
def test_a_baseline_may_train_as_long_as_the_method_and_as_short(name, epochs):
    of = spaces.load("stitching", {"epochs": epochs})
    own = {params["epochs"] for params in of.samples}
    rows = {params["epochs"] for params in grid(name, of)}
    assert (min(rows), max(rows)) == (min(own), max(own))
    assert len(rows) == min(3, len(own))


@pytest.mark.parametrize("name", METHODS)
def test_every_configuration_says_whose_it_is_and_has_an_id_of_its_own(name, monkeypatch):
    monkeypatch.setattr(module, "WALKS", WALKS)  # as many walks as a search takes
    space = baseline_space(METHODS[name], name, SPACES[METHODS[name]], {})
    own = [params for params, _ in space.grid()]
    assert {params["baseline"] for params in own} == {name}
    others = [params for other in METHODS if other != name for params in default_grid(other)]
    others += [METHOD.complete({"k": 1}), METHOD.complete({}), EAR.complete({}), EAR.complete({"epochs": 1})]
    others += [DCCA.complete({"alignment": alignment}) for alignment in ("none", "mse", "dcca")]
    assert not {spaces.config_id(params) for params in own} & {spaces.config_id(params) for params in others}
    assert [space.canonical(params) for params in own] == own
    monkeypatch.setattr(module, "WALKS", 100)
    assert grid(name) == own


@pytest.mark.parametrize("name", METHODS)
def test_optuna_can_sample_each_space(name):
    space = baseline_space(METHODS[name], name, SPACES[METHODS[name]], {})
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    points = [params for params, _ in space.grid()]
    assert all(space(study.ask()) in points for _ in range(20))


def test_ranges_become_their_ends_and_their_geometric_middle():
    of = spaces.load("stitching", {"lr": [1e-5, 4e-3], "epochs": [3, 9]})
    for name in ("ls", "zero_shot"):
        rows = grid(name, of)
        assert {params["lr"] for params in rows} == {1e-5, 2e-4, 4e-3}
        assert math.sqrt(1e-5 * 4e-3) == pytest.approx(2e-4)
        assert {params["epochs"] for params in rows} == {3, 5, 9}  # 5.196


def test_choices_of_the_rate_are_treated_as_the_range_they_span_and_up_to_three_lengths_as_they_are():
    of = spaces.load("stitching", {"lr": {"choices": [1e-4, 1e-3, 1e-2]}, "epochs": {"choices": [4, 20, 7]}})
    assert [(params["lr"], params["epochs"]) for params in grid("zero_shot", of)] == list(
        itertools.product((1e-4, 1e-3, 1e-2), (4, 7, 20))
    )
    of = spaces.load("stitching", {"lr": 1e-3, "epochs": {"choices": [4, 20, 7, 100]}})
    assert [params["epochs"] for params in grid("zero_shot", of)] == [4, 20, 100]


def test_values_fixed_by_the_method_are_fixed_for_baselines():
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


def test_fixed_settings_of_the_papers_procedure_are_taken_too():
    """The paper's procedure is neither a dimension nor an override of its space."""
    for name in ("ls", "zero_shot"):
        for params in grid(name, spaces.load("stitching", "paper")):
            assert (params["lr"], params["epochs"], params["batch_size"], params["accumulation"]) == (1e-5, 15, 32, 4)


def test_the_anchors_of_the_paper_are_those_of_least_squares_too():
    assert {params["anchor_casing"] for params in grid("ls", spaces.load("stitching", "default", "paper"))} == {"exact"}
    assert {params["anchor_casing"] for params in grid("ls")} == {"any"}


def test_other_dimensions_stay_at_their_defaults():
    of = spaces.load("stitching", {"weight_decay": [0.0, 0.1]})
    assert {params["weight_decay"] for params in grid("zero_shot", of)} == {TrainingOptions().weight_decay}
    assert {params["freeze_embeddings"] for params in grid("ls", of)} == {False}
    assert {params["anchors"] for params in grid("ls", of)} == {"all"}


def test_a_default_that_the_method_excludes_becomes_the_nearest_number_that_it_has():
    """More blocks per step than the method may read would cost more than any run of the method."""
    of = spaces.load("dcca", {"alignment": "dcca", "blocks": {"choices": [16, 32]}, "words": {"choices": [256, 512]}})
    assert {(params["blocks"], params["words"]) for params in grid("mse", of)} == {(32, 512)}
    of = spaces.load("stitching", {"weight_decay": [0.01, 0.1], "anchors": [0.25, 0.5]})
    assert {(params["weight_decay"], params["anchors"]) for params in grid("ls", of)} == {(0.01, "all")}


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
        (
            "ls",
            {"strength": 0.0, "map": "ridge"},
            r"^baselines\.ls\.strength: 0.0 is wrong: input should be greater than 0",
        ),
        ("ls", {"lr": {"low": 1e-5, "high": 1e-4}}, r"^baselines\.ls\.lr: all values are tried. Write"),
        (
            "ls",
            {"map": "linear"},
            r"^baselines\.ls\.map: 'linear' is wrong: input should be 'plain', 'ridge' or 'orthogonal'",
        ),
        ("lr", {"c": -1}, r"^baselines\.lr\.c: -1.0 is wrong: input should be greater than 0"),
        ("constant", {"baseline": "ls"}, r"^baselines\.constant\.baseline: 'ls' is not 'constant'"),
        ("plain", {"copies": 3}, r"^baselines\.plain\.copies: there is no such dimension"),
        ("rs_da", {"alpha": 1.0}, r"^baselines\.rs_da\.alpha: there is no such dimension"),
        ("rs_da", {"copies": 0}, r"^baselines\.rs_da\.copies: 0 is wrong: input should be greater than or equal to 1"),
        ("rs_rp", {"radius": 0}, r"^baselines\.rs_rp\.radius: 0.0 is wrong: input should be greater than 0"),
        ("rs_rp", {"radius": {"low": 0.1, "high": 1.0}}, r"^baselines\.rs_rp\.radius: all values are tried. Write"),
        ("adv", {"ascents": 0}, r"^baselines\.adv\.ascents: 0 is wrong: input should be greater than or equal to 1"),
        ("adv", {"epochs": 0}, r"^baselines\.adv\.epochs: 0 is wrong: input should be greater than or equal to 1"),
        ("untouched", {"steps": 10}, r"^baselines\.untouched\.steps: there is no such dimension"),
        ("mlm", {"weight": 1.0}, r"^baselines\.mlm\.weight: there is no such dimension"),
        ("mse", {"words": 0}, r"^baselines\.mse\.words: 0 is wrong: input should be greater than or equal to 1"),
    ],
)
def test_a_wrong_override_names_its_key(name, overrides, message):
    with pytest.raises(RequestError, match=message):
        baseline_space(METHODS[name], name, SPACES[METHODS[name]], overrides)


def passes_per_epoch(params):
    """Encoder passes of one epoch over each example, counted by hand."""
    return {
        "plain": lambda: 1,
        "rs_da": lambda: params["copies"],
        "rs_rp": lambda: 1,
        "adv": lambda: params["ascents"] + 1,  # each ascent, plus the training pass
    }[params["baseline"]]()


BUDGETS = pytest.mark.parametrize(
    ("epochs", "copies", "own", "most"),
    [
        (1, 3, (1, 1), 6),  # XNLI in the paper
        (1, 10, (1, 1), 20),  # PAWS-X in the paper
        (30, 10, (30, 30), 600),  # PAWS-X in its scripts
        (2, 1, (2, 2), 4),
        (3, 1, (3, 3), 6),
        ([1, 5], 2, (1, 5), 20),
        ([1, 5], [1, 3], (1, 5), 30),  # the default
        ([2, 4], [1, 3], (2, 4), 24),
        ({"choices": [1, 7, 3]}, {"choices": [2, 5]}, (1, 7), 70),
    ],
)


@BUDGETS
@pytest.mark.parametrize("name", OF_EAR)
def test_no_baseline_of_ear_costs_more_than_its_most_expensive_run_and_one_as_much(name, epochs, copies, own, most):
    rows = grid(name, spaces.load("ear", {"epochs": epochs, "copies": copies}))
    spent = {}
    for params in rows:
        per_epoch = passes_per_epoch(params)
        spent.setdefault(per_epoch, set()).add(params["epochs"] * per_epoch)
        assert params["epochs"] in {*own, most // per_epoch} or params["epochs"] == 1
    for per_epoch, passes in spent.items():
        assert max(passes) <= max(most, per_epoch)  # one epoch at least
    cheapest = min(spent)
    assert max(spent[cheapest]) > most - cheapest  # another epoch would be too many
    assert {epochs * cheapest for epochs in own if epochs * cheapest <= most} <= spent[cheapest]


def test_the_lengths_of_plain_are_those_of_ear_and_as_many_passes():
    assert sorted({params["epochs"] for params in grid("plain")}) == [1, 5, 30]
    assert [params["epochs"] for params in grid("plain", spaces.load("ear", {"epochs": 3, "lr": 1e-3}))[:2]] == [3, 18]
    of = spaces.load("ear", {"epochs": [1, 5], "copies": 3})
    assert sorted({params["epochs"] for params in grid("rs_da", of)}) == [1, 5, 10]  # each of them three passes


@BUDGETS
@pytest.mark.parametrize("name", OF_EAR)
def test_as_many_encoder_passes_alone_are_an_option(name, epochs, copies, own, most):
    of = spaces.load("ear", {"epochs": epochs, "copies": copies})
    rows = grid(name, of, "longest")
    for params in rows:
        per_epoch = passes_per_epoch(params)
        assert abs(params["epochs"] * per_epoch - most) <= per_epoch / 2
    if name != "adv" and isinstance(copies, int):
        assert {params["epochs"] for params in rows} == {most // (copies if name == "rs_da" else 1)}


def test_the_longest_length_alone_has_the_configurations_of_earlier_versions():
    """Ids as computed before there was a grid of lengths: a search that was begun then goes on with its baselines."""
    ids = {
        "zero_shot": {"05ecc9c9c0", "4c23fccef9", "35ab97a084"},
        "plain": {"672938777c", "88ca39f12d", "4549b19667"},
        "rs_da": {"1ddaa4c435", "4ae140888e", "4f6a950fea"},
        "mlm": {"60b3b49031", "0733dd3a5c", "f4fabd9139"},
    }
    for name, before in ids.items():
        assert {spaces.config_id(params) for params in grid(name, lengths="longest")} == before
        assert before < {spaces.config_id(params) for params in grid(name)}


@pytest.mark.parametrize("name", OF_EAR)
def test_the_copies_of_rs_da_are_those_of_ear_where_these_are_one_number(name):
    rows = grid(name, spaces.load("ear", {"epochs": 1, "copies": 3}))
    assert {params.get("copies") for params in rows} == {3 if name == "rs_da" else None}
    varied = grid(name, spaces.load("ear", {"epochs": 1, "copies": [1, 3]}))
    assert {params.get("copies") for params in varied} == {1 if name == "rs_da" else None}


def test_there_is_at_least_one_epoch():
    of = spaces.load("ear", {"epochs": 1, "copies": 1})
    assert {params["epochs"] for params in grid("adv", of, ascents=9)} == {1}  # ten passes, where EAR makes two


@pytest.mark.parametrize("name", OF_EAR)
def test_epochs_that_are_written_out_win_over_equal_passes(name):
    of = spaces.load("ear", {"epochs": [1, 5], "copies": 3})
    assert {params["epochs"] for params in grid(name, of, epochs=2)} == {2}
    assert {params["epochs"] for params in grid(name, of, epochs={"choices": [1, 4]})} == {1, 4}


def test_the_baselines_of_ear_are_their_products_at_its_learning_rates():
    rates, radii = (5e-6, 1.58e-5, 5e-5), (0.03, 0.1, 0.3)
    for name in ("plain", "rs_da"):
        rows = [(params["lr"], params["epochs"]) for params in grid(name)]
        assert rows == list(itertools.product(rates, (1, 5, 30)))
    rows = {(params["lr"], params["radius"]) for params in grid("rs_rp", lengths="longest")}
    assert rows == set(itertools.product(rates, radii))
    rows = {(params["lr"], params["radius"], params["ascents"]) for params in grid("adv", lengths="longest")}
    assert rows == set(itertools.product(rates, radii, (1, 3)))
    for space, expected in (({"lr": [1e-5, 4e-3]}, {1e-5, 2e-4, 4e-3}), ({"lr": 1e-3}, {1e-3}), ("paper", {2e-5})):
        of = spaces.load("ear", space)
        assert all({params["lr"] for params in grid(name, of)} == expected for name in ("plain", "adv"))
    assert {params["lr"] for params in grid("rs_rp", of, lr=[1e-4, 2e-4])} == {1e-4, 2e-4}


def test_own_parameters_are_varied_at_the_middle_of_rates_and_lengths():
    rows = {(params["lr"], params["epochs"], params["radius"]) for params in grid("rs_rp")}
    at_default = {(*point, 0.1) for point in itertools.product((5e-6, 1.58e-5, 5e-5), (1, 5, 30))}
    assert rows == at_default | {(1.58e-5, 5, 0.03), (1.58e-5, 5, 0.3)}
    others = [params for params in grid("adv") if (params["radius"], params["ascents"]) != (0.1, 1)]
    assert {(params["lr"], params["epochs"]) for params in others} == {(1.58e-5, 5)}
    assert len(others) == 3 * 2 - 1
    alone = spaces.load("ear", {"lr": 1e-3, "epochs": 1, "copies": 1})  # one rate, and one or two epochs
    rows = {(params["epochs"], params["radius"]) for params in grid("rs_rp", alone)}
    assert rows == {(1, 0.1), (2, 0.03), (2, 0.1), (2, 0.3)}


def test_own_parameters_that_are_named_are_combined_with_everything():
    rates, lengths = (5e-6, 1.58e-5, 5e-5), (1, 5, 30)
    rows = [(params["radius"], params["lr"], params["epochs"]) for params in grid("rs_rp", radius=[0.2, 0.4])]
    assert sorted(rows) == sorted(itertools.product((0.2, 0.4), rates, lengths))
    rows = {(params["lr"], params["radius"]) for params in grid("rs_rp", lr=[1e-4, 2e-4], epochs=4)}
    assert rows == set(itertools.product((1e-4, 2e-4), (0.03, 0.1, 0.3)))


@pytest.mark.parametrize("name", OF_EAR)
def test_texts_and_classifier_are_made_as_for_ear(name):
    fixed = {"head": "linear", "scale": 0.5, "redraw": "once", "matching": "exact", "batch_size": 8, "warmup": 0.1}
    own = fixed if name == "rs_da" else {key: fixed[key] for key in ("head", "batch_size", "warmup")}
    for params in grid(name, spaces.load("ear", fixed)):
        once = {"redraw"} if params["epochs"] == 1 else set()  # nothing is drawn again
        assert {key: params[key] for key in fixed if key in params} == {key: own[key] for key in own if key not in once}
    (paper, *_) = grid(name, spaces.load("ear", "paper", "paper"))
    assert paper["head"] == "linear"
    assert paper.get("matching", "exact") == "exact"


def test_the_baselines_of_dcca_take_as_many_steps_as_it_may_and_fewer_at_its_rates():
    of = spaces.load("dcca", {"steps": [200, 900], "lr": [1e-5, 4e-3], "blocks": 8, "words": 256, "tune_epochs": 2})
    rates, lengths = (1e-5, 2e-4, 4e-3), (200, 420, 900)  # 424 is the geometric middle, of two digits
    for name in ("mlm", "mse"):
        rows = grid(name, of)
        assert {(params["lr"], params["steps"]) for params in rows} == set(itertools.product(rates, lengths))
        assert {(params["blocks"], params["tune_epochs"]) for params in rows} == {(8, 2)}
    assert {(params["words"], params["weight"]) for params in grid("mse", of)} == {(256, 0.1), (256, 1.0), (256, 10.0)}
    assert {(params["lr"], params["steps"]) for params in grid("mse", of) if params["weight"] != 1} == {(2e-4, 420)}
    assert {params["steps"] for params in grid("mlm")} == {1000, 3900, 15_000}
    assert {params["steps"] for params in grid("mlm", lengths="longest")} == {15_000}
    assert grid("untouched", of) == [
        {"baseline": "untouched", "tune_epochs": 2, "tune_lr": 2e-5, "tune_warmup": 0.0, "tune_batch_size": 32}
    ]
    without = spaces.load("dcca", {"tune_epochs": 0})
    assert grid("untouched", without) == [{"baseline": "untouched", "tune_epochs": 0}]
