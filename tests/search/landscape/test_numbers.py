"""The numbers of a landscape against a known world: models are vectors, scores are quadratic functions of them."""

import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file

from seedwise.search.decide.landscape_plan import Plan
from seedwise.search.execution.products import Products
from seedwise.search.landscape import captions
from seedwise.search.landscape.geometry import Geometry, inner_products
from seedwise.search.landscape.numbers import Numbers
from seedwise.search.landscape.sentences import sentences
from seedwise.search.landscape.statistics import banded, barrier, explained, finding, flat_within, linearity, slope
from seedwise.search.ledger.state import PLANNED, State
from seedwise.search.studies.landscape_request import landscape_specification
from seedwise.trainables.landscape.jobs import (
    AROUND,
    BOTH,
    EVEN,
    INITIAL,
    LINE_POINTS,
    RADII,
    SOURCE,
    TARGET,
    TRAIN,
    Model,
)
from tests import landscapes

TOPS = {"qel": np.array([1.0, 1.0, 0.0]), "qan": np.array([1.0, -1.0, 0.5]), "qor": np.array([0.0, 2.0, 1.0])}
SHARP = {"qel": 0.02, "qan": 0.05, "qor": 0.1}


def score(theta: np.ndarray, language: str) -> float:
    return float(0.9 - SHARP[language] * ((theta - TOPS[language]) ** 2).sum())


def model(on: str, target: str, replicate: int) -> np.ndarray:
    """The models of a replicate as vectors; the initial model is 0."""
    seed = np.array([0.3, -0.2, 0.1]) * (replicate - 1)
    if on == INITIAL:
        return np.zeros(3)
    if on == SOURCE:
        return TOPS["qel"] + seed
    return TOPS[target] + (0.1 * seed if on == TARGET else -0.2 * seed + 0.25 * (TOPS["qel"] - TOPS[target]))


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    return numbers_of(tmp_path_factory.mktemp("landscape"))


def numbers_of(folder, *, broken=(), stored=True, **options):
    options, folder = {"replicates": 3, "directions": 2} | options, folder / "models"
    folder.mkdir(exist_ok=True)
    specification = landscape_specification("demo-ear", None, options)
    plan, state = Plan.of(specification), State()
    state.apply({"event": "search", "search_id": "x", "specification": specification.as_dict(), "time": 0.0})
    written = set()
    for run in plan.runs:
        models = [model(m.on, m.target, m.replicate) for m in run.job.models(run.replicate, shared=True)]
        if run.job.landscape == TRAIN:
            models = [model(run.job.on, run.job.target, run.replicate)]
        if run.job.landscape == TRAIN and stored:
            save_file(
                {"a": models[0][:2].astype(np.float32), "b": models[0][2:].astype(np.float32)},
                folder / f"{run.name}.safetensors",
            )
        if run.job.landscape == AROUND:
            models.append(np.array([0.6, 0.8, 0.0]) * (1 + run.job.direction))
        points = [None] if run.job.landscape == TRAIN else run.job.points()
        if run.config_id not in written:
            written.add(run.config_id)
            state.apply(
                {"event": "ask", "config_id": run.config_id, "params": run.params, "ask": len(written), "time": 1.0}
            )
        about = {"config_id": run.config_id, "replicate": run.replicate, "time": 1.0}
        state.apply({"event": "start", **about, "phase": PLANNED})
        for step, point in enumerate(points, start=1):
            weights = [1.0] if point is None else run.job.weights(point)
            theta = sum(weight * of for weight, of in zip(weights, models, strict=True))
            metrics = {f"dev/macro_f1/{language}": score(theta, language) for language in TOPS}
            metrics |= {f"dev/loss/{language}": 1 - score(theta, language) for language in TOPS}
            last = step == len(points)
            state.apply({"event": "step", **about, "metrics": metrics, "step": step, "epochs": len(points)})
        failed = (run.job.landscape, run.job.on, run.job.target, run.replicate) in broken
        status = {"status": "failed:nan", "error": "no number"} if failed else {"status": "done", "error": ""}
        assert last
        state.apply(
            {"event": "result", **about, "phase": PLANNED, "metrics": metrics, "seconds": 1.0, "step": step, **status}
        )
    return Numbers(plan, state, Products(folder)).all()


def theta_on_line(a, on, target, replicate):
    return (1 - a) * model(on, target if on == TARGET else "", replicate) + a * model(BOTH, target, replicate)


def test_curves_are_the_scores_at_their_points_with_mean_and_spread(numbers):
    (line,) = [row for row in numbers["lines"] if (row["part"], row["on"], row["target"]) == ("all", "source", "qan")]
    by_hand = np.array([[score(theta_on_line(a, SOURCE, "qan", r), "qan") for a in LINE_POINTS] for r in range(3)])
    curve = line["curves"]["qan"]["score"]
    np.testing.assert_allclose([curve["replicates"][str(r)] for r in range(3)], by_hand, atol=1e-9)
    np.testing.assert_allclose(curve["mean"], by_hand.mean(0))
    np.testing.assert_allclose(curve["sd"], by_hand.std(0, ddof=1))
    np.testing.assert_allclose(curve["variance"], by_hand.var(0, ddof=1), atol=1e-12)
    assert set(line["curves"]) == set(TOPS)
    assert len(numbers["lines"]) == 3 * 2 * 2


def test_normalised_scores_are_over_the_bilingual_model_of_the_same_replicate(numbers):
    (line,) = [row for row in numbers["lines"] if (row["part"], row["on"], row["target"]) == ("all", "target", "qor")]
    for r in range(3):
        own = score(model(BOTH, "qor", r), "qel")
        by_hand = [score(theta_on_line(a, TARGET, "qor", r), "qel") / own for a in LINE_POINTS]
        np.testing.assert_allclose(line["curves"]["qel"]["normalised"]["replicates"][str(r)], by_hand, atol=1e-9)
    end = LINE_POINTS.index(1.0)
    assert line["curves"]["qor"]["normalised"]["mean"][end] == pytest.approx(1.0)


def test_a_plane_has_a1_along_its_rows_and_a2_from_row_to_row(numbers):
    (plane,) = [candidate for candidate in numbers["planes"] if candidate["target"] == "qan"]
    rows = plane["scores"]["qan"]
    assert np.shape(rows) == (21, 21)
    both, source, target = model(BOTH, "qan", 0), model(SOURCE, "", 0), model(TARGET, "qan", 0)
    for cell, (a1, a2) in {(5, 5): (0, 0), (5, 15): (1, 0), (15, 5): (0, 1), (20, 2): (-0.3, 1.5)}.items():
        theta = both + a1 * (source - both) + a2 * (target - both)
        assert rows[cell[0]][cell[1]] == pytest.approx(score(theta, "qan"))
    assert plane["axis"] == list(EVEN)
    assert plane["bilingual"]["qan"] == pytest.approx(score(both, "qan"))


def test_lengths_and_angles_of_the_two_directions_are_those_of_the_vectors(numbers):
    for row in numbers["directions"]:
        both = model(BOTH, row["target"], row["replicate"])
        d_source = model(SOURCE, "", row["replicate"]) - both
        d_target = model(TARGET, row["target"], row["replicate"]) - both
        norms = np.linalg.norm(d_source), np.linalg.norm(d_target)
        assert (row["source_norm"], row["target_norm"]) == pytest.approx(norms, rel=1e-5)
        assert row["ratio"] == pytest.approx(norms[0] / norms[1], rel=1e-5)
        angle = np.degrees(np.arccos(d_source @ d_target / np.prod(norms)))
        assert row["angle"] == pytest.approx(angle, abs=1e-2)
        assert row["from_initial"]["both"] == pytest.approx(np.linalg.norm(both), rel=1e-5)
    assert len(numbers["directions"]) == 2 * 3


def test_seeds_are_compared_two_by_two_and_a_bowl_has_no_barrier(numbers):
    assert [pair["replicates"] for pair in numbers["seeds"]] == [[0, 1], [0, 2], [1, 2]]
    for pair in numbers["seeds"]:
        for language, curve in pair["curves"].items():
            assert curve["barrier"] == pytest.approx(0, abs=1e-9)  # a concave score lies above the line
            first, second = (model(SOURCE, "", r) for r in pair["replicates"])
            middle = score((first + second) / 2, language)
            assert curve["score"][LINE_POINTS.index(0.5)] == pytest.approx(middle)


def test_what_is_kept_around_a_model_is_a_share_of_its_own_score(numbers):
    (around,) = [row for row in numbers["around"] if (row["on"], row["target"]) == ("both", "qan")]
    values = []
    for direction in range(2):
        step = np.array([0.6, 0.8, 0.0]) * (1 + direction)
        for r in range(3):
            own = model(BOTH, "qan", r)
            values.append([score(own + radius * step, "qan") / score(own, "qan") for radius in RADII])
    np.testing.assert_allclose(around["kept"]["qan"]["mean"], np.mean(values, axis=0))
    assert around["kept"]["qan"]["mean"][RADII.index(0.0)] == 1.0


def test_the_finding_says_how_steep_and_how_much_of_the_spread(numbers):
    (values,) = [row for row in numbers["findings"] if row["target"] == "qan"]
    starts = [model(SOURCE, "", r) for r in range(3)]
    ways = [model(BOTH, "qan", r) - start for r, start in enumerate(starts)]
    scores = [score(start, "qan") for start in starts]
    assert values["rise"] == pytest.approx(
        np.mean([score(model(BOTH, "qan", r), "qan") for r in range(3)] - np.array(scores))
    )
    # The derivative of the quadratic at a = 0; the fit over -0.1 to 0.1 sees a little of its curvature.
    derivatives = [-2 * SHARP["qan"] * (start - TOPS["qan"]) @ way for start, way in zip(starts, ways, strict=True)]
    assert values["slope"] == pytest.approx(np.mean(derivatives), abs=0.02)
    way = np.mean(ways, axis=0)
    along = [float((start - starts[0]) @ way / (way @ way)) for start in starts]
    assert values["displacement"] == pytest.approx(np.std(along, ddof=1), rel=1e-4)
    left = np.array(scores) - np.mean(scores) - values["slope"] * (np.array(along) - np.mean(along))
    whole = np.array(scores) - np.mean(scores)
    assert values["explained"] == pytest.approx(1 - (left**2).sum() / (whole**2).sum(), abs=1e-3)
    assert values["spread"] == pytest.approx(np.std(scores, ddof=1))


def test_numbers_made_by_hand_for_other_tests_have_the_keys_of_real_ones(numbers):
    by_hand = landscapes.made()
    assert by_hand.keys() - {"sentences"} == numbers.keys()
    for part in ("models", "directions", "lines", "planes", "seeds", "around"):
        assert by_hand[part][0].keys() == numbers[part][0].keys(), part
    for part in ("lines", "seeds"):
        curves = [next(iter(either[part][0]["curves"].values())) for either in (by_hand, numbers)]
        assert curves[0].keys() == curves[1].keys(), part


def test_sentences_name_every_target_its_numbers_and_the_barriers(numbers):
    texts = sentences(numbers)
    assert [text.partition(":")[0] for text in texts[:2]] == ["qan", "qor"]
    for text, values in zip(texts, numbers["findings"], strict=False):
        for key in ("rise", "slope", "displacement", "spread"):
            assert f"{values[key]:.3f}" in text, key
    assert "3 replicates" in texts[0]
    assert f"at most {abs(numbers['findings'][0]['source_change']):.3f} lower" in texts[0]
    assert texts[2].startswith("Between the source models of two seeds")
    (source,) = [row for row in numbers["around"] if row["on"] == SOURCE]
    radii = [
        f"{captions.radius_in_words(radius, RADII)} in {language}" for language, radius in source["radius"].items()
    ]
    within = f"keeps 90 % of its macro_f1 within a radius of {' and '.join(radii)}."
    assert texts[3] == f"Moved in random directions, the model of qel {within}"
    assert len(texts) == 4


def test_failed_models_are_left_out_and_reported(tmp_path):
    """Their runs are in the ledger, as after a failure in a later session."""
    numbers = numbers_of(tmp_path, broken={(TRAIN, BOTH, "qan", 1)})
    assert [row["replicate"] for row in numbers["directions"] if row["target"] == "qan"] == [0, 2]
    assert numbers["left_out"] == ["train both qan, replicate 1: failed:nan, no number"]
    assert "Failed and left out (1), such as train both qan, replicate 1: failed:nan, no number." in sentences(numbers)


def test_without_two_whole_replicates_the_sentence_does_not_say_that_seeds_do_not_differ(tmp_path):
    numbers = numbers_of(tmp_path, broken={(TRAIN, BOTH, "qan", 1), (TRAIN, BOTH, "qan", 2)})
    assert numbers["findings"][0]["explained"] is None
    assert "is unknown: the models of two replicates are needed" in sentences(numbers)[0]
    # The line does not need the model of the target: the findings remain without it.
    other = numbers_of(tmp_path, broken={(TRAIN, TARGET, "qan", 1)})
    assert other["findings"][0]["displacement"] is not None
    assert [row["replicate"] for row in other["directions"] if row["target"] == "qan"] == [0, 2]


def test_measurements_of_deleted_models_stay(tmp_path):
    before = numbers_of(tmp_path)
    shutil.rmtree(tmp_path / "models")
    assert numbers_of(tmp_path, stored=False) == before
    (tmp_path / "geometry.json").unlink()
    gone = numbers_of(tmp_path, stored=False)
    assert gone["directions"] == []
    assert gone["lines"] == before["lines"]
    assert gone["findings"][0]["explained"] is None


def test_a_damaged_model_costs_the_geometry_of_its_target_and_no_curve(tmp_path):
    whole = numbers_of(tmp_path)
    (tmp_path / "geometry.json").unlink()
    (torn,) = [
        measured
        for measured in whole["models"]
        if (measured["on"], measured["target"], measured["replicate"]) == (BOTH, "qan", 1)
    ]
    (tmp_path / torn["file"]).write_bytes(b"torn")
    rest = numbers_of(tmp_path, stored=False)
    assert [row for row in whole["directions"] if row["target"] == "qor"] == rest["directions"]
    assert (rest["lines"], rest["findings"][1]) == (whole["lines"], whole["findings"][1])


def test_a_landscape_of_one_part_names_what_the_finding_needs(tmp_path):
    numbers = numbers_of(tmp_path, parts=["encoder"])
    assert "add all to landscape.parts" in sentences(numbers)[0]


@pytest.mark.parametrize(
    ("source", "target", "seeds", "expected"),
    [
        (
            0.0,
            0.2,
            [0, 0.01, 0.02],
            "qel stays flat (0.510 to 0.510, at most 0.000 higher on the way, seeds' sd 0.010)",
        ),
        (-0.015, 0.2, [0, 0.01, 0.02], "qel stays flat (0.510 to 0.495, at most 0.015 lower on the way"),
        (-0.025, 0.2, [0, 0.01, 0.02], "qel is not flat (0.510 to 0.485, at most 0.025 lower on the way"),
        (0.2, 0.2, [0, 0.01, 0.02], "qel is not flat (0.510 to 0.710, at most 0.200 higher on the way"),
        (-0.009, 0.2, [0, 0, 0], "qel stays flat"),  # a rise below 0.01 is none, however well seeds agree
        (-0.011, 0.2, [0, 0, 0], "qel is not flat"),
        (0.0, 0.2, [0, 0.01, 0.02], "qan rises from 0.510 to 0.710 (by 0.200, 95 % interval 0.195 to 0.205)"),
        (0.0, -0.2, [0, 0.01, 0.02], "qan falls from 0.510 to 0.310 (by -0.200, 95 % interval -0.205 to -0.195)"),
        (0.0, 0.001, [0, 0.01, 0.02], "qan does not rise for certain from 0.510 to 0.511"),
        (0.0, 0.2, [0], "qan goes from 0.500 to 0.700 (by 0.200), 100 % of that in a straight line."),
    ],
)
def test_the_sentence_agrees_with_straight_lines_of_known_heights(source, target, seeds, expected):
    """Both languages start at 0.5 plus a seed's offset; the rise of the target varies by a fifth of the offset."""

    def straight(rise, uneven):
        known = {
            r: [0.5 + (rise + uneven * (seed - np.mean(seeds))) * a + seed for a in LINE_POINTS]
            for r, seed in enumerate(seeds)
        }
        return banded(known)

    shown = finding("qan", straight(source, 0.0), straight(target, 0.2), {})
    shown = {"findings": [shown], "source": "qel", "lines": [], "seeds": [], "around": [], "left_out": []}
    (sentence,) = sentences(shown)
    assert expected in sentence
    assert f"qan rises {target:.3f} per unit of interpolation, qel {source:.3f}." in sentence


def test_seeds_that_agree_have_no_spread_and_nothing_to_explain():
    """The mean of three equal floats may be another float: 0.1 + 0.1 + 0.1 is more than 0.3."""
    equal = banded({0: [0.1, 0.7], 1: [0.1, 0.7], 2: [0.1, 0.9]})
    assert equal["sd"][0] == equal["variance"][0] == 0.0
    assert equal["sd"][1] == pytest.approx(0.2 / 3**0.5)
    assert explained(0.2, {0: 0.0, 1: 0.1, 2: 0.3}, {0: 0.1, 1: 0.1, 2: 0.1}) is None


def test_one_replicate_shows_no_spread_and_the_sentence_says_so(tmp_path):
    numbers = numbers_of(tmp_path, replicates=1)
    (values, _) = numbers["findings"]
    assert [values[key] for key in ("rises", "rise_low", "spread", "displacement", "explained", "source_sd")] == [
        None
    ] * 6
    assert numbers["seeds"] == []
    assert "is unknown: a single replicate has no spread" in sentences(numbers)[0]


def test_without_labels_there_are_seeds_and_what_is_around_and_nothing_else(tmp_path):
    numbers = numbers_of(tmp_path, labels=False)
    assert (numbers["lines"], numbers["planes"], numbers["directions"]) == ([], [], [])
    assert {row["on"] for row in numbers["models"]} == {"initial", "source"}
    assert len(numbers["seeds"]) == 3
    assert [text[:31] for text in sentences(numbers)] == [
        "Between the source models of tw",
        "Moved in random directions, the",
    ]
    alone = numbers_of(tmp_path, labels=False, replicates=1)
    assert [text[:31] for text in sentences(alone)] == ["Moved in random directions, the"]


@given(
    st.integers(1, 5), st.lists(st.lists(st.floats(-3, 3, width=32), min_size=6, max_size=6), min_size=2, max_size=5)
)
def test_inner_products_of_files_are_those_of_the_differences(block, rows):
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{number}.safetensors" for number in range(len(rows))]
        vectors = np.array(rows, dtype=np.float32)
        for path, vector in zip(paths, vectors, strict=True):
            some = {"a": vector[:4].reshape(2, 2), "b": vector[4:5], "scale": np.array(vector[5]), "none": vector[:0]}
            save_file({name: tensor.copy() for name, tensor in some.items()}, path)
        models = [Model(SOURCE, "", number) for number in range(len(rows))]
        geometry = Geometry(models, inner_products(paths, block))
    exact = vectors.astype(np.float64)
    step, other = geometry.vector(models[0], models[1]), geometry.vector(models[1], models[-1])
    assert geometry.length(step) == pytest.approx(np.linalg.norm(exact[1] - exact[0]), abs=1e-9)
    assert geometry.inner(step, other) == pytest.approx((exact[1] - exact[0]) @ (exact[-1] - exact[1]), abs=1e-6)


@given(st.lists(st.floats(0, 1), min_size=33, max_size=33))
def test_a_barrier_is_never_negative_and_a_straight_line_has_none(heights):
    assert barrier(LINE_POINTS, heights) >= 0
    assert barrier(LINE_POINTS, [2 * a - 1 for a in LINE_POINTS]) == pytest.approx(0, abs=1e-12)


def test_the_barrier_of_a_hill_is_its_height():
    heights = [0.2 + 0.1 * a + (0.4 if a == 0.5 else 0.0) for a in LINE_POINTS]
    assert barrier(LINE_POINTS, heights) == pytest.approx(0.4)
    outside = [0.2 + (5.0 if a > 1 else 0.0) for a in LINE_POINTS]
    assert barrier(LINE_POINTS, outside) == pytest.approx(0, abs=1e-12)  # beyond the ends there is no barrier
    assert barrier(LINE_POINTS, [None, *heights[1:]]) is None


def test_small_statistics_match_values_by_hand():
    assert slope(LINE_POINTS, [3 * a + 1 for a in LINE_POINTS]) == pytest.approx(3)
    assert linearity([0, 1, 2], [5, 5, 5]) is None
    assert linearity([0, 1, 2], [1, 3, 5]) == pytest.approx(1)
    assert flat_within([-0.2, -0.1, 0.0, 0.1, 0.2], [0.5, 0.9, 1.0, 1.0, 0.7]) == pytest.approx(0.1 + 0.1 * 0.05 / 0.35)
    assert flat_within([-0.1, 0.0, 0.1], [0.95, 1.0, 0.95]) is None
    assert explained(2.0, {0: 0.0, 1: 0.1}, {0: 0.5, 1: 0.7}) == pytest.approx(1)
    assert explained(-2.0, {0: 0.0, 1: 0.1}, {0: 0.5, 1: 0.7}) == pytest.approx(-3)
    assert explained(1.0, {0: 0.0, 1: 0.1}, {0: 0.5, 1: 0.5}) is None
    assert explained(1.0, {0: 0.0}, {0: 0.5}) is None
    assert banded({}) == {"replicates": {}, "mean": [], "sd": [], "variance": []}
    assert banded({0: [1.0, None]})["mean"] == []
