import numpy as np
import pytest
import torch
from entmax import entmax15, entmax_bisect, sparsemax
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.optimize import brentq, minimize
from scipy.special import softmax as scipy_softmax

from seedwise.trainables.stitching.options import StitchingOptions
from seedwise.trainables.stitching.weightings import entmax, softmax, standard, weights

ROWS = arrays.arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 8)), elements=st.floats(-1, 1, width=32))
TAUS = st.sampled_from([0.05, 0.2, 1.0, 3.0])
NAMES = ["standard", "softmax", "sparsemax", "entmax"]
EXPONENTS = [1.1, 1.5, 1.9, 2.0, 2.2, 3.0, 4.0]


def of(name, rows, tau=0.3, exponent=1.5):
    options = StitchingOptions(weighting=name, tau=tau, exponent=exponent)
    return weights(torch.from_numpy(rows), options).numpy()


def test_values_by_hand():
    z = torch.tensor([[0.6, 0.3, 0.1]], dtype=torch.float64)
    np.testing.assert_allclose(standard(z), [[0.6, 0.3, 0.1]])
    # softmax at tau = 0.1: exp(6), exp(3), exp(1) over their sum 426.2325...
    np.testing.assert_allclose(softmax(z, 0.1), [[0.94649912, 0.04712342, 0.00637746]], atol=1e-7)
    # sparsemax at tau = 0.5: u = (1.2, 0.6, 0.2); K = 2, theta = (1.8 - 1) / 2 = 0.4
    np.testing.assert_allclose(entmax(z, 0.5, 2.0), [[0.8, 0.2, 0.0]], atol=1e-12)
    # one-hot as soon as the two best are tau apart: 0.6 - 0.3 >= 0.3
    np.testing.assert_allclose(entmax(z, 0.3, 2.0), [[1.0, 0.0, 0.0]], atol=1e-12)
    # exponent 3 at tau = 1: u = (1.2, 0.6, 0.2), sqrt(1.2 - theta) + sqrt(0.6 - theta) = 1 at theta = 0.56
    np.testing.assert_allclose(entmax(z, 1.0, 3.0), [[0.8, 0.2, 0.0]], atol=1e-6)


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


def brute_force(row, tau, exponent):
    """(u - theta)_+^(1 / (exponent - 1)) with the theta that a root finder gives, in double precision."""
    u, power = (exponent - 1) * (row - row.max()) / tau, 1 / (exponent - 1)
    theta = brentq(lambda at: (np.maximum(u - at, 0) ** power).sum() - 1, -1, 0, xtol=1e-15, rtol=1e-15)
    return np.maximum(u - theta, 0) ** power


def rounding(dtype, exponent):
    """By how much a weight may be off if u - theta, at most 1, is off by a few roundings.

    The slope of x^power is at most `power` for powers from 1 on; below 1 it is steepest at 0, where x becomes x^power.
    """
    off, power = 8 * np.finfo(dtype).eps + 2.0**-30, 1 / (exponent - 1)  # the bisection has 30 steps
    return max(power, 1) * off ** min(power, 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("exponent", EXPONENTS)
def test_entmax_is_the_solution_of_its_equation(exponent, dtype):
    draw = np.random.default_rng(0)
    for _ in range(30):
        rows = draw.normal(0, 0.2, (5, int(draw.integers(1, 150)))).clip(-1, 1).astype(dtype)
        tau = float(draw.choice([0.05, 0.2, 1.0, 3.0]))
        for order in (rows, -np.sort(-rows)):  # neighbours come ordered, all anchors do not
            expected = [brute_force(row.astype(np.float64), tau, exponent) for row in order]
            np.testing.assert_allclose(of("entmax", order, tau, exponent), expected, atol=rounding(dtype, exponent))


@pytest.mark.parametrize(("exponent", "exact"), [(1.5, entmax15), (2.0, sparsemax)])
@given(rows=ROWS, tau=TAUS)
def test_the_exponents_around_an_exact_algorithm_agree_with_it(exponent, exact, rows, tau):
    expected = exact(torch.from_numpy(rows) / tau, dim=-1)
    for near in (exponent - 1e-6, exponent, exponent + 1e-6):
        np.testing.assert_allclose(of("entmax", rows, tau, near), expected, atol=1e-5)


def test_entmax_at_two_is_sparsemax_to_the_bit_and_near_one_softmax():
    z = torch.tensor([[0.9, 0.5, 0.2, -0.3]], dtype=torch.float64)
    assert np.array_equal(of("entmax", z.numpy(), 0.3, 2.0), of("sparsemax", z.numpy(), 0.3))
    np.testing.assert_allclose(entmax(z, 0.3, 1.0001), softmax(z, 0.3), atol=1e-3)


def cosines(count):
    """Rows in float32, as neighbours are, and in their order; spreads from narrow to wide."""
    draw = np.random.default_rng(0)
    rows = draw.normal(0, 0.2, (2000, count)) * draw.uniform(0.3, 1.5, (2000, 1))
    return torch.from_numpy(-np.sort(-rows.clip(-1, 1), axis=1)).float()


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_columns_without_a_weight_change_no_bit(exponent):
    """Every k that holds all weights gives the same ones: equal tables are recognised by their hash."""
    rows, compared = cosines(300), 0
    for tau in (0.02, 0.1, 0.5):
        every = entmax(rows, tau, exponent)
        support = (every > 0).sum(1)
        for k in (10, 20, 50, 63, 64, 65, 100, 130, 200):
            some = support <= k  # as a table of its own
            compared += int(some.sum())
            fewer, more = entmax(rows[some, :k], tau, exponent), entmax(rows[some], tau, exponent)
            assert torch.equal(fewer, more[:, :k]), (tau, k)
            assert not more[:, k:].any()
    assert compared > 1000


def test_the_package_alone_depends_on_the_number_of_columns():
    """Why `entmax_bisect` gets columns that k has not. Once this fails, it can be called as it is."""
    rows = cosines(300) / 0.1
    every = entmax_bisect(rows, alpha=1.3)
    some = (every > 0).sum(1) <= 50
    assert not torch.equal(entmax_bisect(rows[some, :50], alpha=1.3), every[some, :50])


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
