import cmaes
import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution, IntDistribution
from optuna.trial import TrialState, create_trial

from seedwise.search.decide.evolution import Axis, Evolution, replay


def smooth(trial):
    return {
        "a": trial.suggest_float("a", -1.0, 1.0),
        "b": trial.suggest_float("b", 1e-4, 1e-1, log=True),
        "n": trial.suggest_int("n", 0, 100),
    }


def height(params):
    """Highest, 0, at a = 0.3, b = 1e-2, n = 70; in units of the ranges."""
    distances = (params["a"] - 0.3) / 2, (np.log10(params["b"]) + 2) / 3, (params["n"] - 70) / 100
    return -float(np.square(distances).sum())


def mixed(trial):
    params = {"kind": trial.suggest_categorical("kind", ["plain", "rich"]), "x": trial.suggest_float("x", 0, 1)}
    if params["kind"] == "rich":
        params["depth"] = trial.suggest_int("depth", 1, 4)
    return {**params, "y": trial.suggest_int("y", 1, 64, log=True), "z": trial.suggest_float("z", 0, 1, step=0.25)}


def search(space, score, asks, sampler, told=()):
    """As the proposer does it: a new study and a new sampler for every ask, told of all trials so far."""
    told, asked = list(told), []
    for ask in range(asks):
        study = optuna.create_study(direction="maximize", sampler=sampler(ask))
        study.add_trials(told)
        trial = study.ask()
        params = space(trial)
        asked.append(params)
        told.append(
            create_trial(
                value=score(params, ask) if score(params, ask) is not None else None,
                state=TrialState.COMPLETE if score(params, ask) is not None else TrialState.FAIL,
                params=trial.params,
                distributions=trial.distributions,
            )
        )
    return asked, told


def evolution(run):
    return lambda ask: Evolution(seed=1000 * run + ask)


def test_it_ends_much_nearer_to_the_optimum_than_random():
    asked, _ = search(smooth, _height, 70, evolution(0))
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    random = [smooth(study.ask()) for _ in range(70)]
    assert max(map(height, asked)) > max(map(height, random)) / 5  # heights are minus squared distances
    assert np.median([height(params) for params in asked[-14:]]) > np.median([height(params) for params in random]) / 10


def _height(params, _ask):
    return height(params)


def test_the_same_trials_and_seed_give_the_same_point():
    _, told = search(smooth, _height, 30, evolution(0))

    def point(trials, seed):
        return search(smooth, _height, 1, lambda _: Evolution(seed), trials)[0][0]

    assert point(told, 5) == point(told, 5)
    assert point(told, 5) != point(told, 6)
    assert point(told, 5) != point(told[:21], 5)


def test_trials_that_do_not_fill_a_generation_change_nothing():
    _, told = search(smooth, _height, 20, evolution(0))
    points = [search(smooth, _height, 1, lambda _: Evolution(3), told[:count])[0][0] for count in range(14, 21)]
    assert all(point == points[0] for point in points)  # a generation of three dimensions is 4 + floor(3 log 3) = 7


def test_the_replay_is_the_package_told_by_hand():
    generator = np.random.default_rng(0)
    points, losses = generator.random((21, 3)), generator.random(21)
    mine = replay(
        [(list(point), loss) for point, loss in zip(points, losses, strict=True)],
        [Axis(FloatDistribution(0, 1))] * 3,
        seed=4,
    )
    theirs = cmaes.CMA(mean=np.full(3, 0.5), sigma=1 / 6, bounds=np.array([[0, 1]] * 3), seed=4)
    for first in (0, 7, 14):
        theirs.tell([(points[index], losses[index]) for index in range(first, first + 7)])
    assert mine.generation == 3
    np.testing.assert_array_equal(mine.ask(), theirs.ask())


@pytest.mark.parametrize("failing", [False, True])
def test_conditional_and_categorical_dimensions_are_drawn_too(failing):
    def score(params, ask):
        return None if failing and ask % 5 == 2 else params["x"] + (params["kind"] == "rich")

    asked, _ = search(mixed, score, 60, evolution(1))
    for params in asked:
        assert 0 <= params["x"] <= 1
        assert 1 <= params["y"] <= 64
        assert params["z"] in (0, 0.25, 0.5, 0.75, 1)
        assert ("depth" in params) == (params["kind"] == "rich")
    late = asked[40:]
    assert np.mean([params["x"] for params in late]) > 0.7
    assert sum(params["kind"] == "rich" for params in late) > 14


def test_whole_numbers_do_not_freeze():
    """All trials of the last generations at one point: the next ones still look at its neighbours."""
    distributions = {"i": IntDistribution(0, 20), "j": IntDistribution(0, 20)}
    told = [create_trial(value=1.0, params={"i": 7, "j": 7}, distributions=distributions) for _ in range(60)]

    def space(trial):
        return trial.suggest_int("i", 0, 20), trial.suggest_int("j", 0, 20)

    points = {search(space, lambda *_: 0.0, 1, lambda _, seed=seed: Evolution(seed), told)[0][0] for seed in range(40)}
    assert len(points) > 3


def test_one_numeric_dimension_and_none_at_all_are_drawn_without_cma():
    def one(trial):
        return {"x": trial.suggest_float("x", 0, 1), "kind": trial.suggest_categorical("kind", "ab")}

    asked, _ = search(one, lambda params, _: params["x"], 25, evolution(2))
    assert len({params["x"] for params in asked}) == 25
    none, _ = search(lambda trial: {"kind": trial.suggest_categorical("kind", "ab")}, lambda *_: 0.0, 12, evolution(2))
    assert {params["kind"] for params in none} == {"a", "b"}


@pytest.mark.parametrize(
    "distribution",
    [
        FloatDistribution(-2.0, 3.0),
        FloatDistribution(1e-5, 1e-1, log=True),
        FloatDistribution(0.0, 1.0, step=0.25),
        IntDistribution(1, 200, log=True),
        IntDistribution(1, 9, step=2),
    ],
)
def test_every_value_comes_back_from_its_place(distribution):
    axis = Axis(distribution)
    for place in np.linspace(0, 1, 101):
        value = axis.value(place)
        assert distribution._contains(value)
        for within in (0.01, 0.5, 0.99):
            assert 0 <= axis.place(value, within) <= 1
            assert axis.value(axis.place(value, within)) == pytest.approx(value)
    assert axis.value(0.0) == pytest.approx(distribution.low)
    assert axis.value(1.0) == pytest.approx(distribution.high)
