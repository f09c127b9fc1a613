"""The maps against scipy, closed forms and known rotations."""

import numpy as np
import pytest
from scipy.linalg import inv, orthogonal_procrustes, sqrtm
from scipy.stats import ortho_group

from seedwise.trainables.static.mapping import PRESETS, Preset, fit, orthogonal, whitening

SHAPES = [(40, 6, 6), (40, 8, 5), (40, 5, 8)]  # pairs, dimensions of the moving and of the fixed side


def sides(shape, seed=0):
    pairs, of_moving, of_fixed = shape
    draw = np.random.default_rng(seed)
    mixing = draw.normal(size=(of_moving, of_moving))  # correlated dimensions, as word vectors have
    return draw.normal(size=(pairs, of_moving)) @ mixing, draw.normal(size=(pairs, of_fixed))


def vecmap(moving, fixed, of_moving, of_fixed):
    """VecMap's two maps by its formulas: whiten, rotate, re-weight, de-whiten each side by its own statistics."""
    roots = [np.real(sqrtm(side.T @ side)) for side in (moving, fixed)]
    first = [inv(root) for root in roots]
    left, values, right = np.linalg.svd(first[0].T @ moving.T @ fixed @ first[1])
    return tuple(
        table @ rotation @ np.diag(values**power) @ rotation.T @ root @ rotation
        for table, rotation, power, root in zip(first, (left, right.T), (of_moving, of_fixed), roots, strict=True)
    )


def test_the_orthogonal_map_is_scipys():
    moving, fixed = sides((40, 6, 6))
    expected, _ = orthogonal_procrustes(moving, fixed)
    np.testing.assert_allclose(fit(moving, fixed, PRESETS["orthogonal"]), expected, atol=1e-10)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_orthogonal_map_keeps_lengths_or_drops_directions(shape):
    moving, fixed = sides(shape)
    mapping = orthogonal(moving.T @ fixed)
    small = min(mapping.shape)
    gram = mapping @ mapping.T if mapping.shape[0] == small else mapping.T @ mapping
    np.testing.assert_allclose(gram, np.eye(small), atol=1e-10)


@pytest.mark.parametrize("shape", SHAPES)
def test_no_other_semi_orthogonal_map_brings_the_pairs_closer(shape):
    moving, fixed = sides(shape)
    gained = np.sum(moving @ orthogonal(moving.T @ fixed) * fixed)
    for seed in range(50):
        other = ortho_group.rvs(max(shape[1:]), random_state=seed)[: shape[1], : shape[2]]
        assert gained > np.sum(moving @ other * fixed)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_planted_rotation_is_found_in_noise(preset):
    draw = np.random.default_rng(1)
    moving = draw.normal(size=(2000, 10))
    rotation = ortho_group.rvs(10, random_state=2)
    fixed = moving @ rotation + 0.05 * draw.normal(size=moving.shape)
    np.testing.assert_allclose(fit(moving, fixed, PRESETS[preset]), rotation, atol=0.02)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("rows", [30, 4])
def test_two_identical_languages_are_left_as_they_are(preset, rows):
    """With fewer pairs than dimensions, in the directions that the pairs have."""
    table, _ = sides((rows, 6, 6))
    np.testing.assert_allclose(table @ fit(table, table, PRESETS[preset]), table, atol=1e-8)


def test_whitening_gives_identity_covariance_and_is_undone():
    rows, _ = sides((40, 6, 6))
    whiten, undo = whitening(rows)
    white = rows @ whiten
    np.testing.assert_allclose(white.T @ white, np.eye(6), atol=1e-10)
    np.testing.assert_allclose(white @ undo, rows, atol=1e-10)
    np.testing.assert_allclose(undo, np.real(sqrtm(rows.T @ rows)), atol=1e-8)


def test_whitening_of_few_rows_neither_fails_nor_explodes():
    rows, _ = sides((3, 6, 6))
    whiten, undo = whitening(rows)
    np.testing.assert_allclose(rows @ whiten @ undo, rows, atol=1e-10)
    assert np.linalg.matrix_rank(whiten) == 3


@pytest.mark.parametrize("name", ["supervised", "aaai2018"])
@pytest.mark.parametrize("shape", [(40, 6, 6), (60, 6, 6)])
def test_the_full_sequence_is_vecmaps_seen_from_the_fixed_side(name, shape):
    """VecMap's map of the moving side, then the inverse of its map of the fixed side, which is not re-weighted."""
    moving, fixed = sides(shape)
    of_moving, of_fixed = vecmap(moving, fixed, PRESETS[name].reweight, 0)
    np.testing.assert_allclose(of_fixed @ of_fixed.T, np.eye(6), atol=1e-8)
    np.testing.assert_allclose(fit(moving, fixed, PRESETS[name]), of_moving @ np.linalg.pinv(of_fixed), atol=1e-8)


@pytest.mark.parametrize("shape", SHAPES[1:])
@pytest.mark.parametrize("preset", PRESETS)
def test_a_map_goes_between_spaces_of_different_dimensions(preset, shape):
    """The smaller side is embedded in the larger: translations end up nearest."""
    pairs, of_moving, of_fixed = shape
    draw = np.random.default_rng(3)
    small = draw.normal(size=(pairs, min(of_moving, of_fixed)))
    large = small @ ortho_group.rvs(max(of_moving, of_fixed), random_state=4)[: small.shape[1]]
    large = large + 0.01 * draw.normal(size=large.shape)
    moving, fixed = (small, large) if of_moving < of_fixed else (large, small)
    np.testing.assert_allclose(moving @ fit(moving, fixed, PRESETS[preset]), fixed, atol=0.3)


def test_reweighting_shrinks_directions_that_the_languages_do_not_share():
    draw = np.random.default_rng(5)
    shared = draw.normal(size=(500, 3))
    moving, fixed = (np.hstack([shared, draw.normal(size=(500, 3))]) for _ in range(2))
    lengths = {}
    for power in (0.0, 0.5, 1.0):
        mapped = moving @ fit(moving, fixed, Preset((), whiten=True, reweight=power))
        lengths[power] = np.linalg.norm(mapped, axis=0) / np.linalg.norm(moving, axis=0)
    np.testing.assert_allclose(lengths[0.0], 1, atol=0.1)
    np.testing.assert_allclose(lengths[1.0][:3], 1, atol=0.1)
    assert (lengths[1.0][3:] < lengths[0.5][3:]).all()
    assert lengths[0.5][3:].max() < 0.5


@pytest.mark.parametrize("preset", PRESETS)
def test_fewer_dimensions_are_those_in_which_the_pairs_agree_best(preset):
    draw = np.random.default_rng(6)
    shared = draw.normal(size=(500, 2))
    moving, fixed = (np.hstack([shared, draw.normal(size=(500, 3))]) for _ in range(2))
    mapped = moving @ fit(moving, fixed, PRESETS[preset], dimensions=2)
    assert np.linalg.matrix_rank(mapped, tol=1e-6) == 2
    np.testing.assert_allclose(mapped[:, :2], shared, atol=0.5)
    assert np.abs(mapped[:, 2:]).max() < 0.5
