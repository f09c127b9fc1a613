import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from trainables.stitching import anchors, tables
from trainables.stitching.tables import neighbours, stitch, to_norm
from trainables.stitching.weightings import weighting

NAMES = ["standard", "softmax", "sparsemax", "entmax"]


def brute_force(words, anchor_vectors, k):
    """Indices by sorting the whole cosine table, ties by anchor index; cosines in double precision."""
    unit = lambda rows: rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-8)  # noqa: E731
    cosine = unit(np.float64(words)) @ unit(np.float64(anchor_vectors)).T
    return cosine, np.stack([np.lexsort((np.arange(len(row)), -row))[:k] for row in cosine])


@settings(deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 40), st.integers(1, 30), st.integers(1, 35))
def test_neighbours_are_those_of_brute_force(seed, words, anchor_count, k):
    draw = np.random.default_rng(seed)
    w, a = draw.normal(size=(words, 5)).astype("f4"), draw.normal(size=(anchor_count, 5)).astype("f4")
    similarity, index = neighbours(torch.from_numpy(w), torch.from_numpy(a), k)
    cosine, expected = brute_force(w, a, k)
    np.testing.assert_array_equal(index, expected)
    np.testing.assert_allclose(similarity, np.take_along_axis(cosine, expected, axis=1), atol=1e-5)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_ties_go_to_the_first_anchor_also_at_the_cut(k):
    words = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    same = torch.tensor([[0.0, 2.0], [3.0, 0.0], [1.0, 0.0], [5.0, 0.0], [0.0, 1.0]])
    _, index = neighbours(words, same, k)
    assert index[0].tolist() == [1, 2, 3, 0, 4][:k]
    assert index[1].tolist() == [0, 4, 1, 2, 3][:k]
    assert index[2].tolist() == [0, 1, 2, 3, 4][:k]  # no direction: all cosines are 0


def test_the_block_size_changes_nothing(monkeypatch):
    draw = torch.Generator().manual_seed(0)
    words, a = torch.randn(50, 6, generator=draw), torch.randn(20, 6, generator=draw)
    whole = neighbours(words, a, 7)
    monkeypatch.setattr(tables, "BLOCK", 8)
    parts = neighbours(words, a, 7)
    torch.testing.assert_close(whole, parts)


@pytest.mark.parametrize("name", NAMES)
def test_with_one_neighbour_every_scheme_is_the_nearest_anchor(name):
    draw = np.random.default_rng(1)
    words, target, source = (draw.normal(size=shape).astype("f4") for shape in ((30, 4), (12, 4), (12, 9)))
    weigh = weighting(name, tau=0.3, exponent=1.5)
    table = stitch(*map(torch.from_numpy, (words, target, source)), 1, weigh)
    np.testing.assert_allclose(table, source[brute_force(words, target, 1)[1][:, 0]], rtol=1e-6)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("k", [2, 5, 100])
def test_a_stitched_row_is_the_weighted_mean_written_as_a_loop(name, k):
    draw = np.random.default_rng(2)
    words, target, source = (draw.normal(size=shape).astype("f4") for shape in ((10, 4), (12, 4), (12, 9)))
    weigh = weighting(name, tau=0.3, exponent=1.5)
    table = stitch(*map(torch.from_numpy, (words, target, source)), k, weigh)
    cosine, nearest = brute_force(words, target, k)
    for row, chosen in enumerate(nearest):
        weights = weigh(torch.from_numpy(cosine[row, chosen][None].astype("f4")))[0].numpy()
        expected = sum(weight * source[anchor] for weight, anchor in zip(weights, chosen, strict=True))
        np.testing.assert_allclose(table[row], expected, atol=1e-5)


def test_sparsemax_beyond_its_support_does_not_depend_on_k():
    draw = torch.Generator().manual_seed(3)
    words, target, source = (torch.randn(n, d, generator=draw) for n, d in ((20, 8), (40, 8), (40, 3)))
    weigh = weighting("sparsemax", tau=0.1, exponent=1.5)
    similarity, _ = neighbours(words, target, 40)
    support = int((weigh(similarity) > 0).sum(1).max())
    assert support < 40
    tables_of_k = [stitch(words, target, source, k, weigh) for k in (support + 1, 30, 40)]
    torch.testing.assert_close(tables_of_k[0], tables_of_k[1])
    torch.testing.assert_close(tables_of_k[0], tables_of_k[2])


def test_permuting_the_anchors_changes_nothing():
    draw = torch.Generator().manual_seed(4)
    words, target, source = (torch.randn(n, d, generator=draw) for n, d in ((20, 8), (15, 8), (15, 3)))
    order = torch.randperm(15, generator=draw)
    weigh = weighting("softmax", tau=0.2, exponent=1.5)
    torch.testing.assert_close(
        stitch(words, target, source, 6, weigh), stitch(words, target[order], source[order], 6, weigh)
    )


def test_rows_are_brought_to_the_norm_and_zeros_stay():
    table = to_norm(torch.tensor([[3.0, 4.0], [0.0, 0.0]]), 2.0)
    torch.testing.assert_close(table, torch.tensor([[1.2, 1.6], [0.0, 0.0]]))


PAIRS = np.array([[5, 0], [5, 1], [7, 2], [9, 3]])


def test_anchor_subsets_depend_on_the_seed_alone_and_keep_their_order():
    many = np.stack([np.arange(100), np.arange(100)], axis=1)
    one, again, other = (anchors.choose(many, 30, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)
    assert (np.diff(one[:, 0]) > 0).all()
    assert len(anchors.choose(many, 0.25, 1)) == 25
    np.testing.assert_array_equal(anchors.choose(many, 500, 1), many)
    np.testing.assert_array_equal(anchors.choose(many, "all", 1), many)


def test_merging_keeps_one_anchor_per_source_piece():
    vectors = np.array([[2.0, 0.0], [0.0, 3.0], [1.0, 0.0], [0.0, 5.0]])
    pieces, merged = anchors.merge(PAIRS, vectors)
    assert pieces.tolist() == [5, 7, 9]
    np.testing.assert_allclose(merged, [[0.5, 0.5], [1, 0], [0, 1]])
