"""The losses against loops, numpy and scikit-learn; gradients where those of the released loss fail."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cross_decomposition import CCA
from sklearn.decomposition import PCA
from torch.autograd import gradcheck
from torch.linalg import cholesky, solve_triangular, svdvals

from seedwise.trainables.dcca.correlation import (
    Directions,
    centred_as_released,
    chance,
    correlation_loss,
    correlations,
    coupling,
    fit,
    mse_loss,
    principal,
    projected,
    reference_loss,
)

SEEDS = st.integers(0, 2**32 - 1)


def random(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def related(words, widths, shared, seed=0, noise=0.5, dtype=torch.float64):
    """Two views of a few shared factors, and the factors: strong in each view, with weak independent noise."""
    factors = random(words, shared, seed=seed, dtype=dtype)
    mixing = [10 * random(shared, width, seed=7 + side, dtype=dtype) for side, width in enumerate(widths)]
    own = [random(words, shared, seed=seed + 1 + side, dtype=dtype) for side in range(2)]
    faint = [0.05 * random(words, width, seed=seed + 3 + side, dtype=dtype) for side, width in enumerate(widths)]
    return [(factors + noise * own[side]) @ mixing[side] + faint[side] + 3 for side in range(2)]


def gradient(loss_of, view, *others, **options):
    leaf = view.clone().requires_grad_()
    loss = loss_of(leaf, *others, **options)
    return torch.autograd.grad(loss, leaf)[0], loss.item()


# Values.


@pytest.mark.parametrize("widths", [(4, 4), (12, 9), (40, 4)], ids=str)
def test_the_correlations_are_those_of_scikit_learn_on_principal_components(widths):
    views = related(300, widths, shared=4)
    scores = [PCA(4, svd_solver="full").fit_transform(view.numpy()) for view in views]
    variates = CCA(4, max_iter=10_000, tol=1e-12).fit_transform(*scores)
    expected = [
        np.corrcoef(first, second)[0, 1] for first, second in zip(*(variate.T for variate in variates), strict=True)
    ]
    actual = correlations(*views, directions=4, ridge=0.0)
    np.testing.assert_allclose(actual, sorted(expected, reverse=True), atol=1e-5)


@pytest.mark.parametrize("ridge", [1e-6, 0.1, 2.0])
def test_the_correlations_are_singular_values_of_the_textbooks_matrix(ridge):
    views = [view.numpy() for view in related(80, (9, 7), shared=3)]
    roots, scores = [], []
    for view in views:
        moved = view - view.mean(0)
        scores.append(moved @ np.linalg.svd(moved)[2][:3].T)
        covariance = np.cov(scores[-1].T)
        variances, vectors = np.linalg.eigh(covariance + ridge * np.trace(covariance) / 3 * np.eye(3))
        roots.append(vectors / np.sqrt(variances) @ vectors.T)
    textbook = roots[0] @ (scores[0].T @ scores[1] / 79) @ roots[1]
    actual = correlations(*map(torch.from_numpy, views), directions=3, ridge=ridge)
    np.testing.assert_allclose(actual, np.linalg.svd(textbook)[1], atol=1e-7)


def test_chance_is_what_independent_views_correlate_by():
    draw = np.random.default_rng(0)
    for words, directions, top_k in [(64, 8, 3), (300, 20, 20)]:
        means = []
        for _ in range(40):
            scores = [draw.standard_normal((words, directions)) for _ in range(2)]
            bases = [np.linalg.qr(view - view.mean(0))[0] for view in scores]
            means.append(np.linalg.svd(bases[0].T @ bases[1])[1][:top_k].mean())
        assert chance(words, directions, top_k) == pytest.approx(np.mean(means), abs=0.01)


def test_chance_in_128_dimensions_of_1024_words_is_the_known_figure():
    assert chance(1024, 128, 128) == pytest.approx(0.30, abs=0.01)
    assert chance(1024, 128, 1) == pytest.approx(0.66, abs=0.01)


@pytest.mark.parametrize(("top_k", "directions"), [(5, 16), (16, 16), (4, 8)])
def test_independent_views_have_a_loss_near_zero_at_any_number_of_words(top_k, directions):
    means = []
    for words in (64, 512):
        pairs = [(random(words, 40, seed=2 * number), random(words, 30, seed=2 * number + 1)) for number in range(8)]
        options = {"directions": directions, "ridge": 1e-4}
        losses = [correlation_loss(*pair, top_k=top_k, **options).item() for pair in pairs]
        means.append(np.mean([correlations(*pair, **options)[:top_k].mean().item() for pair in pairs]))
        assert np.mean(losses) == pytest.approx(0, abs=0.05)
    assert means[0] > means[1] + 0.2


def test_equal_views_have_a_loss_of_minus_one():
    view = random(100, 8)
    assert correlation_loss(view, view @ random(8, 8), top_k=3, directions=8, ridge=0.0).item() == pytest.approx(-1)


def test_what_the_released_centring_subtracts_is_the_index_formula():
    for words, width in [(4, 8), (5, 3), (6, 4)]:
        view = random(words, width)
        means = [sum(row) / width for row in view.tolist()]
        expected = [[view[i, j] - means[(i * width + j) % words] for j in range(width)] for i in range(words)]
        np.testing.assert_allclose(centred_as_released(view), expected, atol=1e-12)


def test_the_released_loss_is_minus_the_sum_of_roots_of_one_plus_cosines():
    views = [random(40, 12, seed=1), random(40, 9, seed=2)]
    left = [np.linalg.svd(centred_as_released(view).numpy())[0][:, :5] for view in views]
    cosines = np.linalg.svd(left[0].T @ left[1])[1]
    assert reference_loss(*views, top_k=5).item() == pytest.approx(-np.sqrt(1 + cosines).sum(), abs=1e-8)


def test_the_released_loss_of_independent_views_depends_on_their_number():
    for words, expected in [(32, -12.15), (64, -11.58), (256, -10.79)]:
        draws = range(5)
        pairs = [[random(words, 300, seed=2 * draw + side, dtype=torch.float32) for side in (0, 1)] for draw in draws]
        assert np.mean([reference_loss(*pair).item() for pair in pairs]) == pytest.approx(expected, abs=0.15)


def test_the_released_loss_is_constant_once_it_keeps_all_words():
    for seed in range(3):
        loss = reference_loss(random(16, 30, seed=seed), random(16, 20, seed=seed + 9), top_k=16)
        assert loss.item() == pytest.approx(-16 * math.sqrt(2), abs=1e-6)


def test_the_squared_error_is_a_mean_over_words_and_dimensions():
    first, second = random(3, 4, seed=1), random(3, 4, seed=2)
    pairs = zip(first.flatten().tolist(), second.flatten().tolist(), strict=True)
    assert mse_loss(first, second).item() == pytest.approx(sum((a - b) ** 2 for a, b in pairs) / 12)


# Gradients.


def test_the_gradient_is_the_slope_within_fixed_directions():
    contextual, static = related(24, (7, 5), shared=3, noise=1.0)
    bases = [principal(view, 3) for view in (contextual, static)]

    def within(view, other):
        scores = [projected(encoded, basis) for encoded, basis in zip((view, other), bases, strict=True)]
        return svdvals(coupling(*scores, 0.01)[0])

    assert gradcheck(within, (contextual.requires_grad_(), static.requires_grad_()))
    (expected,) = torch.autograd.grad(within(contextual, static)[:2].mean(), contextual)
    actual, _ = gradient(correlation_loss, contextual.detach(), static, top_k=2, directions=3, ridge=0.01)
    torch.testing.assert_close(actual, -expected / (1 - chance(24, 3, 2)))


def textbook_loss(contextual, static, top_k=10, ridge=1e-4):
    views = [view - view.mean(0) for view in (contextual, static)]
    factors = [cholesky(view.T @ view / 1023 + ridge * torch.eye(view.shape[1])) for view in views]
    half = solve_triangular(factors[0], views[0].T @ views[1] / 1023, upper=False)
    return -svdvals(solve_triangular(factors[1], half.T, upper=False))[:top_k].mean()


def test_at_1024_words_of_768_dimensions_there_is_a_gradient_where_the_textbook_has_none():
    views = [random(1024, 768, seed=side, dtype=torch.float32) for side in range(2)]
    slope, loss = gradient(correlation_loss, *views, top_k=10, directions=32, ridge=1e-4)
    dead, constant = gradient(textbook_loss, *views)
    assert constant == pytest.approx(-1, abs=1e-3)  # independent, and all correlations are 1
    assert loss == pytest.approx(0, abs=0.1)
    assert slope.norm() > 100 * dead.norm()
    moved = views[0] - 0.01 * views[0].norm() * slope / slope.norm()
    assert correlation_loss(moved, views[1], top_k=10, directions=32, ridge=1e-4) < loss - 0.01
    moved = views[0] - 0.01 * views[0].norm() * dead / dead.norm()
    assert textbook_loss(moved, views[1]).item() == pytest.approx(constant, abs=1e-3)


def test_training_raises_the_correlation_on_words_it_has_not_seen():
    def words(count, seed):
        """Factors of the static side, mixed into inputs with stronger factors that the static side lacks."""
        factors, other = random(count, 6, seed=seed), random(count, 18, seed=seed + 1)
        static = factors @ random(6, 20, seed=50) + 0.3 * random(count, 20, seed=seed + 2)
        inputs = torch.cat([factors, 2 * other], 1) @ random(24, 24, seed=51)
        return inputs.float(), static.float()

    options = {"top_k": 4, "directions": 8, "ridge": 1e-3}
    torch.manual_seed(0)
    encoder = torch.nn.Sequential(torch.nn.Linear(24, 64), torch.nn.Tanh(), torch.nn.Linear(64, 24))
    optimiser = torch.optim.Adam(encoder.parameters(), lr=1e-2)
    fitted, held_out = words(512, 1_000_000), words(512, 2_000_000)

    def score():
        directions = fit(encoder(fitted[0]), fitted[1], **options)
        return directions.measure(encoder(held_out[0]), held_out[1])

    before = score()
    for step in range(60):
        inputs, static = words(128, 10 * step)
        optimiser.zero_grad()
        correlation_loss(encoder(inputs), static, **options).backward()
        optimiser.step()
    assert before < 0.6
    assert score() > before + 0.3


def hazards():
    """Degenerate batches of 64 words x 24 dimensions that encoders do produce: by name, in float32."""
    normal = random(64, 24, dtype=torch.float32)
    normal = (
        normal - normal.mean(0) - normal.mean(1, keepdim=True) + normal.mean()
    )  # so neither kind of centring changes it
    left, values, right = torch.linalg.svd(normal, full_matrices=False)
    values[10] = values[9] * (1 - 1e-6)
    return {
        "a word twice": torch.cat([normal[:63], normal[:1]]),
        "each word four times": normal[:16].repeat(4, 1),
        "five distinct words": normal[:5].repeat(13, 1)[:64],
        "a constant batch": torch.full((64, 24), 0.7),
        "zeros": torch.zeros(64, 24),
        "equal variances": left[:, :23] @ right[:23],
        "a tiny gap": left * values @ right,
        "an outlying dimension": normal + 1000 * (torch.arange(24) == 3),
        "a tiny scale": 1e-6 * normal,
        "a large scale": 1e6 * normal,
    }


@pytest.mark.parametrize("name", hazards())
@pytest.mark.parametrize("directions", [10, 16])
def test_degenerate_batches_have_a_finite_loss_and_gradient(name, directions):
    contextual, static = hazards()[name], random(64, 17, seed=5, dtype=torch.float32)[:, :16]
    options = {"top_k": 10, "directions": directions, "ridge": 1e-4}
    slope, loss = gradient(correlation_loss, contextual, static, **options)
    assert math.isfinite(loss)
    assert loss >= -1
    assert slope.isfinite().all()
    assert slope.norm() < 1e5
    swapped, _ = gradient(correlation_loss, static, contextual, **options)
    assert swapped.isfinite().all()


@pytest.mark.parametrize("name", ["five distinct words", "a constant batch", "equal variances", "a tiny gap"])
def test_the_released_gradient_is_huge_or_not_a_number_there(name):
    """The corrected loss avoids this, on the same batches."""
    static = random(64, 16, seed=5, dtype=torch.float32)
    slope, _ = gradient(reference_loss, hazards()[name], static)
    usual, _ = gradient(reference_loss, random(64, 24, seed=8, dtype=torch.float32), static)
    assert not slope.norm() < 100 * usual.norm()


# Invariances and bounds.


@settings(max_examples=25)
@given(SEEDS, st.integers(1, 4), st.integers(20, 40))
def test_an_invertible_map_of_a_view_changes_nothing_when_all_directions_are_kept(seed, width, words):
    first, second = random(words, width, seed=seed), random(words, width, seed=seed + 1)
    left, _, right = torch.linalg.svd(random(width, width, seed=seed + 2))
    invertible = left * torch.linspace(0.5, 2, width, dtype=torch.float64) @ right
    options = {"directions": width, "ridge": 0.0}
    expected = correlations(first, second, **options)
    torch.testing.assert_close(correlations(first @ invertible + 3, second, **options), expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(correlations(second, first, **options), expected, atol=1e-9, rtol=0)


@settings(max_examples=25)
@given(SEEDS, st.integers(1, 5), st.integers(20, 40), st.sampled_from([0.0, 1e-3, 1.0]))
def test_correlations_lie_between_0_and_1_and_know_no_order_of_words(seed, directions, words, ridge):
    first, second = related(words, (8, 6), shared=5, seed=seed, noise=0.1)
    actual = correlations(first, second, directions=directions, ridge=ridge)
    assert actual.shape == (directions,)
    assert (actual >= 0).all()
    assert (actual <= 1).all()
    assert (actual.diff() <= 0).all()
    order = torch.randperm(words, generator=torch.Generator().manual_seed(seed))
    torch.testing.assert_close(correlations(first[order], second[order], directions=directions, ridge=ridge), actual)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_under_autocast_the_loss_is_that_of_float32(dtype):
    options = {"top_k": 3, "directions": 8, "ridge": 1e-4}
    contextual, static = (view.to(dtype) for view in related(64, (24, 12), shared=6, dtype=torch.float32))
    expected, loss = gradient(correlation_loss, contextual.float(), static.float(), **options)
    fitted = fit(contextual.float(), static.float(), **options)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = correlation_loss(contextual.float(), static.float(), **options).item()
        half = correlation_loss(leaf := contextual.requires_grad_(), static, **options)
        measured = fit(contextual, static, **options).measure(contextual, static)
    assert inside == pytest.approx(loss, abs=1e-6)  # products in bfloat16 would differ by 1e-4
    assert half.item() == pytest.approx(loss, abs=1e-6)
    assert measured == pytest.approx(fitted.measure(contextual, static), abs=1e-6)
    half.backward()
    torch.testing.assert_close(leaf.grad, expected.to(dtype))


# Held-out words.


def test_on_its_training_words_a_fit_measures_the_correlations():
    views = related(200, (12, 9), shared=5, noise=1.0)
    expected = correlations(*views, directions=5, ridge=0.0)[:3].mean().item()
    assert fit(*views, directions=5, top_k=3, ridge=0.0).measure(*views) == pytest.approx(expected, abs=1e-6)


def test_a_measure_is_the_mean_of_pearson_correlations():
    views, directions = related(50, (6, 4), shared=3), [random(6, 2, seed=3), random(4, 2, seed=4)]
    scores = [(view @ of_view).numpy().T for view, of_view in zip(views, directions, strict=True)]
    expected = np.mean([np.corrcoef(first, second)[0, 1] for first, second in zip(*scores, strict=True)])
    assert Directions(*directions).measure(*views) == pytest.approx(expected)


def test_on_other_words_independent_views_measure_zero_and_related_ones_what_they_share():
    measures = []
    for seed in range(20):
        fitted = fit(random(80, 20, seed=seed), random(80, 15, seed=seed + 100), directions=10, top_k=5, ridge=1e-4)
        measures.append(fitted.measure(random(80, 20, seed=seed + 200), random(80, 15, seed=seed + 300)))
    assert np.mean(measures) == pytest.approx(0, abs=0.03)
    fitted = fit(*related(2000, (12, 9), shared=4, noise=0.5), directions=4, top_k=4, ridge=1e-4)
    measured = fitted.measure(*related(2000, (12, 9), shared=4, noise=0.5, seed=9))
    assert measured == pytest.approx(1 / 1.25, abs=0.03)  # variance of a factor over that of factor and noise


# Diverged encoders.


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_encodings_that_are_not_finite_give_no_number_and_no_error(value):
    views = [random(40, 12, seed=side) for side in range(2)]
    views[0][3, 4] = value
    options = {"top_k": 2, "directions": 4, "ridge": 1e-4}
    for slope, loss in (gradient(correlation_loss, *views, **options), gradient(reference_loss, *views, top_k=2)):
        assert math.isnan(loss)
        assert slope.isnan().all()
    assert math.isnan(fit(*views, **options).measure(*views))
