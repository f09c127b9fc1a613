import numpy as np
import pytest
import torch
from entmax import entmax15
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.optimize import minimize
from scipy.special import softmax as scipy_softmax

from seedwise.trainables.stitching.options import StitchingOptions
from seedwise.trainables.stitching.weightings import entmax, softmax, sparsemax, standard, weights

ROWS = arrays.arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 8)), elements=st.floats(-1, 1, width=32))
TAUS = st.sampled_from([0.05, 0.2, 1.0, 3.0])
NAMES = ["standard", "softmax", "sparsemax", "entmax"]


def of(name, rows, tau=0.3, exponent=1.5):
    options = StitchingOptions(weighting=name, tau=tau, exponent=exponent)
    return weights(torch.from_numpy(rows), options).numpy()


def test_values_by_hand():
    z = torch.tensor([[0.6, 0.3, 0.1]], dtype=torch.float64)
    np.testing.assert_allclose(standard(z), [[0.6, 0.3, 0.1]])
    # softmax at tau = 0.1: exp(6), exp(3), exp(1) over their sum 426.2325...
    np.testing.assert_allclose(softmax(z, 0.1), [[0.94649912, 0.04712342, 0.00637746]], atol=1e-7)
    # sparsemax at tau = 0.5: u = (1.2, 0.6, 0.2); K = 2, theta = (1.8 - 1) / 2 = 0.4
    np.testing.assert_allclose(sparsemax(z, 0.5), [[0.8, 0.2, 0.0]], atol=1e-12)
    # one-hot as soon as the two best are tau apart: 0.6 - 0.3 >= 0.3
    np.testing.assert_allclose(sparsemax(z, 0.3), [[1.0, 0.0, 0.0]], atol=1e-12)


def test_standard_counts_negatives_as_zero_and_a_row_without_a_positive_one_as_uniform():
    z = torch.tensor([[0.5, -0.25, 0.5], [-0.1, -0.2, -0.3], [0.0, 0.0, 0.0]])
    np.testing.assert_allclose(standard(z), [[0.5, 0, 0.5], [1 / 3] * 3, [1 / 3] * 3], atol=1e-7)


@given(ROWS, TAUS)
def test_softmax_is_scipys(rows, tau):
    np.testing.assert_allclose(of("softmax", rows, tau), scipy_softmax(rows / tau, axis=1), atol=1e-9)


@given(ROWS, TAUS)
def test_sparsemax_is_the_closed_form_by_sorting(rows, tau):
    expected = []
    for row in rows / tau:
        u = np.sort(row)[::-1]
        sizes = np.arange(1, len(u) + 1)
        size = sizes[1 + sizes * u > np.cumsum(u)][-1]
        expected.append(np.maximum(row - (np.cumsum(u)[size - 1] - 1) / size, 0))
    np.testing.assert_allclose(of("sparsemax", rows, tau), expected, atol=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_sparsemax_is_the_nearest_point_of_the_simplex(seed):
    z = np.random.default_rng(seed).uniform(-1, 1, 6)
    solved = minimize(
        lambda p: np.sum((p - z / 0.4) ** 2),
        np.full(6, 1 / 6),
        bounds=[(0, 1)] * 6,
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
    )
    np.testing.assert_allclose(of("sparsemax", z[None], 0.4)[0], solved.x, atol=1e-4)


@given(ROWS, TAUS)
def test_entmax_at_one_and_a_half_is_the_exact_algorithm(rows, tau):
    exact = entmax15(torch.from_numpy(rows) / tau, dim=-1)
    np.testing.assert_allclose(of("entmax", rows, tau, 1.5), exact, atol=1e-6)


def test_entmax_lies_between_softmax_and_sparsemax():
    z = torch.tensor([[0.9, 0.5, 0.2, -0.3]], dtype=torch.float64)
    np.testing.assert_allclose(entmax(z, 0.3, 1.0001), softmax(z, 0.3), atol=1e-3)
    np.testing.assert_allclose(entmax(z, 0.3, 2.0), sparsemax(z, 0.3), atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
@given(rows=ROWS, tau=TAUS)
def test_weights_are_a_distribution(name, rows, tau):
    weights = of(name, rows, tau)
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(1), 1, atol=1e-6)


@given(ROWS)
def test_softmax_tends_to_its_limits(rows):
    np.testing.assert_allclose(of("softmax", rows, 1e6), np.full_like(rows, 1 / rows.shape[1]), atol=1e-5)
    best = np.sort(rows, axis=1)
    if rows.shape[1] > 1 and (best[:, -1] - best[:, -2] > 0.01).all():
        np.testing.assert_allclose(of("softmax", rows, 1e-4).max(1), 1, atol=1e-6)
