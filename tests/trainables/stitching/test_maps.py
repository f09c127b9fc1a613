"""The linear maps against closed forms, scipy and scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import lstsq, orthogonal_procrustes, pinv
from sklearn.linear_model import Ridge

from seedwise.trainables.stitching.maps import fit
from seedwise.trainables.stitching.options import MAPS

SHAPES = [(40, 5, 8), (40, 8, 5), (40, 6, 6), (4, 6, 9)]  # anchors, D_t, D; the last has fewer anchors than dimensions


def anchors(shape, seed=0, scale=1.0):
    count, of_target, of_source = shape
    draw = np.random.default_rng(seed)
    target = draw.normal(size=(count, of_target)) + draw.normal(size=of_target)  # a common mean, as word vectors have
    return (target * scale).astype(np.float32), draw.normal(size=(count, of_source)).astype(np.float32)


@pytest.mark.parametrize("shape", SHAPES)
def test_plain_is_scipys_least_squares_and_the_pseudo_inverse(shape):
    target, source = anchors(shape)
    fitted = fit("plain", target, source)
    double = target.astype(float), source.astype(float)
    np.testing.assert_allclose(fitted, lstsq(*double)[0], atol=1e-10)
    np.testing.assert_allclose(fitted, pinv(double[0]) @ double[1], atol=1e-10)


def test_plain_solves_the_normal_equations():
    target, source = (side.astype(float) for side in anchors((40, 5, 8)))
    expected = np.linalg.inv(target.T @ target) @ target.T @ source
    np.testing.assert_allclose(fit("plain", target, source), expected, atol=1e-10)


def test_plain_takes_the_smallest_solution_for_repeated_columns():
    """Two equal columns share the weight of a single column."""
    target, source = anchors((40, 5, 8))
    alone = fit("plain", target, source)
    doubled = fit("plain", np.hstack([target, target[:, :1]]), source)
    np.testing.assert_allclose(doubled[1:5], alone[1:], atol=1e-6)
    np.testing.assert_allclose(doubled[[0, 5]], np.stack([alone[0] / 2] * 2), atol=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("strength", [0.1, 1.0])
def test_ridge_is_scikit_learns_at_the_stated_penalty(shape, strength):
    target, source = anchors(shape)
    penalty = strength * np.mean([column @ column for column in target.astype(float).T])
    expected = Ridge(alpha=penalty, fit_intercept=False).fit(target.astype(float), source.astype(float)).coef_.T
    np.testing.assert_allclose(fit("ridge", target, source, strength), expected, atol=1e-8)


def test_ridge_of_strength_one_halves_the_map_if_all_directions_are_alike():
    target = np.eye(4)[[0, 1, 2, 3, 0, 1, 2, 3]]
    source = np.random.default_rng(0).normal(size=(8, 3))
    np.testing.assert_allclose(fit("ridge", target, source, 1.0), fit("plain", target, source) / 2)


def test_ridge_tends_to_plain_and_to_zero():
    target, source = anchors((40, 5, 8))
    np.testing.assert_allclose(fit("ridge", target, source, 1e-9), fit("plain", target, source), atol=1e-6)
    np.testing.assert_allclose(fit("ridge", target, source, 1e9), 0, atol=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
def test_orthogonal_keeps_angles_and_gives_the_anchors_the_length_of_the_source(shape):
    target, source = anchors(shape, scale=28.0)
    fitted = fit("orthogonal", target, source)
    gram = fitted @ fitted.T if shape[1] <= shape[2] else fitted.T @ fitted
    np.testing.assert_allclose(gram, gram[0, 0] * np.eye(len(gram)), atol=1e-10)
    lengths = [np.sqrt(np.mean(np.sum(side.astype(float) ** 2, axis=1))) for side in (target @ fitted, source)]
    assert lengths[0] == pytest.approx(lengths[1])


def test_orthogonal_is_scipys_procrustes_up_to_its_scale():
    """scipy's needs equal dimensions; a smaller target space is the same problem with columns of zeros."""
    target, source = (side.astype(float) for side in anchors((40, 5, 8)))
    expected = orthogonal_procrustes(np.pad(target, ((0, 0), (0, 3))), source)[0][:5]
    fitted = fit("orthogonal", target, source)
    np.testing.assert_allclose(fitted / np.linalg.norm(fitted[0]), expected, atol=1e-10)


@given(st.integers(0, 1000), st.sampled_from(SHAPES[:3]))
def test_no_other_rotation_agrees_better(seed, shape):
    target, source = (side.astype(float) for side in anchors(shape, seed))
    fitted = fit("orthogonal", target, source)
    fitted = fitted / np.linalg.norm(fitted, ord=2)
    tall = np.random.default_rng(seed + 1).normal(size=(max(fitted.shape), min(fitted.shape)))
    other = np.linalg.qr(tall)[0]
    other = other if fitted.shape[0] >= fitted.shape[1] else other.T
    assert np.sum((target @ fitted) * source) >= np.sum((target @ other) * source)


@pytest.mark.parametrize("kind", MAPS)
def test_the_mapped_words_do_not_depend_on_the_length_or_the_number_of_copies_of_the_vectors(kind):
    target, source = anchors((40, 5, 8))
    expected = target @ fit(kind, target, source, 0.1)
    np.testing.assert_allclose(28 * target @ fit(kind, 28 * target, source, 0.1), expected, atol=1e-5)
    twice = fit(kind, np.vstack([target, target]), np.vstack([source, source]), 0.1)
    np.testing.assert_allclose(target @ twice, expected, atol=1e-5)


@pytest.mark.parametrize("kind", MAPS)
def test_a_rotation_is_recovered(kind):
    draw = np.random.default_rng(0)
    target = draw.normal(size=(200, 6))
    rotation = np.linalg.qr(draw.normal(size=(9, 6)))[0].T
    np.testing.assert_allclose(fit(kind, target, target @ rotation, 1e-9), rotation, atol=1e-6)
