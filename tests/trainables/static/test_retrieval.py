"""Neighbours and CSLS against loops over all pairs."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seedwise.trainables.static import retrieval
from seedwise.trainables.static.retrieval import crowding, match, mutual_csls, nearest, unit

K = 3


def tables(seed=0, first=12, second=9):
    draw = np.random.default_rng(seed)
    return draw.normal(size=(first, 4)), draw.normal(size=(second, 4))


def csls_by_loops(first, second, k):
    cosine = np.array([[a @ b / (np.linalg.norm(a) * np.linalg.norm(b)) for b in second] for a in first])
    of_first = [np.mean(sorted(row)[-k:]) for row in cosine]
    of_second = [np.mean(sorted(column)[-k:]) for column in cosine.T]
    scores = cosine.copy()
    for i, a in enumerate(of_first):
        for j, b in enumerate(of_second):
            scores[i, j] = 2 * cosine[i, j] - a - b
    return cosine, scores, of_first


@pytest.fixture(params=[1 << 24, 30], ids=["one block", "many blocks"], autouse=True)
def cells(request, monkeypatch):
    monkeypatch.setattr(retrieval, "CELLS", request.param)


@pytest.mark.parametrize("seed", range(3))
def test_neighbours_by_cosine_and_by_csls_are_those_of_loops(seed):
    first, second = tables(seed)
    cosine, scores, of_first = csls_by_loops(first, second, K)
    x, z = unit(first), unit(second)
    np.testing.assert_allclose(crowding(x, z, K), of_first, atol=1e-6)
    np.testing.assert_array_equal(nearest(x, z, 0.0, 5), np.argsort(-cosine)[:, :5])
    np.testing.assert_array_equal(nearest(x, z, crowding(z, x, K), 5), np.argsort(-scores)[:, :5])


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_a_match_of_rank_n_is_the_nth_best_by_csls(seed):
    first, second = tables(seed)
    cosine, scores, _ = csls_by_loops(first, second, K)
    ranks = np.random.default_rng(seed).integers(1, 12, size=12)  # there are 9 keys: 10 and 11 mean the last
    x, z = unit(first), unit(second)
    keys, cosines = match(x, z, crowding(z, x, K), torch.tensor(ranks), K)
    expected = np.argsort(-scores)[np.arange(12), np.minimum(ranks, 9) - 1]
    np.testing.assert_array_equal(keys, expected)
    np.testing.assert_allclose(cosines, -np.sort(-cosine)[:, :K], atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_mutual_csls_is_the_mean_over_pairs_that_choose_each_other(seed):
    first, second = tables(seed)
    _, scores, _ = csls_by_loops(first, second, K)
    there, back = scores.argmax(axis=1), scores.argmax(axis=0)
    chosen = [scores[i, j] for i, j in enumerate(there) if back[j] == i]
    np.testing.assert_allclose(mutual_csls(unit(first), unit(second), K), np.mean(chosen), atol=1e-6)


def test_csls_passes_over_a_hub():
    """By cosine the first key, a hub, is nearest to all queries; CSLS gives two of them their own key."""
    angles = np.radians([0, 40, -40])
    queries = unit(np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1))
    keys = unit(np.array([[1, 0, 0], [0.5, 0.5, 0.7], [0.5, -0.5, 0.7]]))
    assert nearest(queries, keys, 0.0, 1)[:, 0].tolist() == [0, 0, 0]
    assert nearest(queries, keys, crowding(keys, queries, 2), 1)[:, 0].tolist() == [0, 1, 2]
