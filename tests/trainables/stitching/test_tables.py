"""Neighbours and tables against brute force, and properties of both."""

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from seedwise.trainables.stitching import tables
from seedwise.trainables.stitching.options import StitchingOptions
from seedwise.trainables.stitching.tables import combine, neighbours, stitch_all, to_norm
from seedwise.trainables.stitching.weightings import weights

NAMES = ["standard", "softmax", "sparsemax", "entmax"]
SEEDS, TAUS = st.integers(0, 10_000), st.floats(0.01, 3.0)


def vectors(seed, *shapes, rounded=False):
    """Random float32 arrays; `rounded` ones have few values, so that many cosines are equal."""
    draw = np.random.default_rng(seed)
    drawn = [draw.normal(size=shape).astype("f4") for shape in shapes]
    return [torch.from_numpy(np.round(array) if rounded else array) for array in drawn]


def stitch(words, anchors, source, k, options):
    return combine(neighbours(words, anchors, k), source, k, options)[0]


def brute_force(words, anchors):
    """The whole cosine table in double precision."""
    unit = [
        rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-8)
        for rows in map(np.float64, (words, anchors))
    ]
    return unit[0] @ unit[1].T


@settings(deadline=None)
@given(SEEDS, st.integers(1, 40), st.integers(1, 300), st.integers(1, 80), st.booleans())
def test_neighbours_are_those_of_brute_force(seed, words, count, k, rounded):
    w, a = vectors(seed, (words, 5), (count, 5), rounded=rounded)
    nearest, cosine, k = neighbours(w, a, k), brute_force(w, a), min(k, count)
    expected = -np.sort(-cosine, axis=1)[:, :k]
    np.testing.assert_allclose(nearest.similarity, expected, atol=1e-6)
    np.testing.assert_allclose(
        np.take_along_axis(cosine, nearest.index.numpy().astype(int), axis=1), expected, atol=1e-6
    )
    equal = nearest.similarity[:, 1:] == nearest.similarity[:, :-1]
    assert (nearest.index[:, 1:] > nearest.index[:, :-1])[equal].all()
    assert all(len(set(row)) == k for row in nearest.index.tolist())
    np.testing.assert_array_equal(nearest.zero, np.linalg.norm(w, axis=1) == 0)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_ties_go_to_the_first_anchor_also_at_the_cut(k):
    words = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    same = torch.tensor([[0.0, 2.0], [3.0, 0.0], [1.0, 0.0], [5.0, 0.0], [0.0, 1.0]])
    nearest = neighbours(words, same, k)
    assert nearest.index[0].tolist() == [1, 2, 3, 0, 4][:k]
    assert nearest.index[1].tolist() == [0, 4, 1, 2, 3][:k]
    assert nearest.index[2].tolist() == [0, 1, 2, 3, 4][:k]  # a zero vector: all cosines are 0
    # Whether the cut separates equals: the first word has three cosines of 1 and two of 0; the second two and three.
    assert (
        nearest.tied.tolist()
        == [[True, True, True], [True, False, True], [False, True, True], [False] * 3][{1: 0, 2: 1, 3: 2, 5: 3}[k]]
    )


@given(SEEDS, st.integers(1, 30), st.integers(1, 30), st.sampled_from(NAMES), st.booleans())
@settings(deadline=None)
def test_a_prefix_of_more_neighbours_gives_the_same_table_bit_for_bit(seed, k, more, name, rounded):
    words, target, source = vectors(seed, (20, 4), (50, 4), (50, 6), rounded=rounded)
    options = StitchingOptions(weighting=name, tau=0.2)
    alone, counts = combine(neighbours(words, target, k), source, k, options)
    prefix, same_counts = combine(neighbours(words, target, k + more), source, k, options)
    assert torch.equal(alone, prefix)
    assert counts == same_counts


def test_the_number_of_threads_changes_no_bit_and_the_block_size_only_rounding(monkeypatch):
    words, target, source = vectors(0, (1000, 6), (20, 6), (20, 3))
    whole = stitch(words, target, source, 7, StitchingOptions(weighting="softmax", tau=0.2))
    threads = torch.get_num_threads()
    try:
        for other in (1, 2, 3):
            torch.set_num_threads(other)
            assert torch.equal(stitch(words, target, source, 7, StitchingOptions(weighting="softmax", tau=0.2)), whole)
            assert torch.get_num_threads() == other
    finally:
        torch.set_num_threads(threads)
    monkeypatch.setattr(tables, "BLOCK", 8)
    monkeypatch.setattr(tables, "TABLE_BLOCK", 16)
    torch.testing.assert_close(stitch(words, target, source, 7, StitchingOptions(weighting="softmax", tau=0.2)), whole)


def test_vectors_that_are_not_finite_are_refused():
    words, target = vectors(0, (3, 4), (5, 4))
    words[1, 2] = torch.nan
    with pytest.raises(ValueError, match="not finite"):
        neighbours(words, target, 2)


@settings(deadline=None)
@given(SEEDS, st.sampled_from(NAMES), TAUS)
def test_with_one_neighbour_every_scheme_is_the_nearest_anchor(seed, name, tau):
    words, target, source = vectors(seed, (30, 4), (12, 4), (12, 9))
    table = stitch(words, target, source, 1, StitchingOptions(weighting=name, tau=tau))
    np.testing.assert_allclose(table, source[brute_force(words, target).argmax(1)], rtol=1e-6)


@settings(deadline=None)
@given(SEEDS, st.integers(2, 20), st.sampled_from(NAMES), TAUS)
def test_a_stitched_row_is_the_weighted_mean_written_as_a_loop(seed, k, name, tau):
    words, target, source = vectors(seed, (10, 4), (12, 4), (12, 9))
    options = StitchingOptions(weighting=name, tau=tau)
    table, cosine = stitch(words, target, source, k, options), brute_force(words, target)
    for row, cosines in enumerate(cosine):
        chosen = np.argsort(-cosines)[:k]
        weight_of = weights(torch.from_numpy(cosines[chosen][None].astype("f4")), options)[0].numpy()
        expected = sum(weight * source[anchor].numpy() for weight, anchor in zip(weight_of, chosen, strict=True))
        np.testing.assert_allclose(table[row], expected, atol=1e-4)


@settings(deadline=None)
@given(SEEDS, st.sampled_from(NAMES), st.sampled_from(["clamp", "keep"]))
def test_all_anchors_are_k_equal_to_their_number(seed, name, negatives):
    words, target, source = vectors(seed, (20, 6), (15, 6), (15, 4))
    cosine = brute_force(words, target)
    assume((np.abs(cosine.sum(1)) > 0.1).all())  # as printed, a denominator near 0 makes any rounding large
    options = StitchingOptions(weighting=name, tau=0.3, negatives=negatives)
    table, counts = stitch_all(words, target, source, options)
    expected, expected_counts = combine(neighbours(words, target, 15), source, 15, options)
    torch.testing.assert_close(table, expected, rtol=1e-4, atol=1e-4)
    assert counts == expected_counts


@settings(deadline=None)
@given(SEEDS, TAUS, TAUS, st.integers(1, 20))
def test_standard_does_not_depend_on_tau(seed, tau, other, k):
    words, target, source = vectors(seed, (20, 4), (20, 4), (20, 5))
    first, second = (
        stitch(words, target, source, k, StitchingOptions(weighting="standard", tau=value)) for value in (tau, other)
    )
    assert torch.equal(first, second)


@settings(deadline=None)
@given(SEEDS, st.integers(2, 20))
def test_softmax_tends_to_the_nearest_anchor_and_to_the_mean_of_all_k(seed, k):
    words, target, source = vectors(seed, (20, 4), (20, 4), (20, 5))
    nearest = neighbours(words, target, k)
    clear = (nearest.similarity[:, 0] - nearest.similarity[:, 1] > 1e-3).numpy()
    cold, hot = (combine(nearest, source, k, StitchingOptions(weighting="softmax", tau=tau))[0] for tau in (1e-5, 1e5))
    torch.testing.assert_close(cold[clear], source[nearest.index[clear, 0].long()])
    torch.testing.assert_close(hot, source[nearest.index.long()].mean(1), rtol=1e-3, atol=1e-4)


@settings(deadline=None)
@given(SEEDS, st.floats(0.01, 0.5), st.integers(1, 40), st.sampled_from([1.2, 1.5, 1.9, 2.0, 2.5, 3.0]))
def test_tables_beyond_the_support_do_not_depend_on_k(seed, tau, more, exponent):
    """To the last bit: equal tables are recognised by their hash."""
    words, target, source = vectors(seed, (20, 8), (80, 8), (80, 3))
    options = StitchingOptions(weighting="entmax", tau=tau, exponent=exponent)
    support = int((weights(neighbours(words, target, 80).similarity, options) > 0).sum(1).max())
    assume(support < 80)
    first, second = (stitch(words, target, source, k, options) for k in (support + 1, min(80, support + 1 + more)))
    assert torch.equal(first, second)


@settings(deadline=None)
@given(SEEDS, st.sampled_from(NAMES), st.integers(1, 15), st.booleans())
def test_permuting_the_anchors_changes_nothing_but_ties(seed, name, k, rounded):
    words, target, source = vectors(seed, (30, 6), (15, 6), (15, 3), rounded=rounded)
    order = torch.from_numpy(np.random.default_rng(seed + 1).permutation(15))
    options, free = StitchingOptions(weighting=name, tau=0.2), ~neighbours(words, target, k).tied
    table, permuted = stitch(words, target, source, k, options), stitch(words, target[order], source[order], k, options)
    gaps = -np.sort(-brute_force(words, target), axis=1)  # equal up to rounding may be equal in one order alone
    clear = free & torch.from_numpy((gaps[:, k - 1] - gaps[:, k] > 1e-5) if k < 15 else np.ones(30, dtype=bool))
    torch.testing.assert_close(table[clear], permuted[clear], rtol=1e-4, atol=1e-5)


def test_rows_that_needed_a_rule_are_counted():
    anchors = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [-1.0, 0.0]])
    words = torch.tensor([[2.0, 0.0], [0.0, 0.0], [-1.0, -3.0], [0.0, 3.0]])
    source = torch.eye(4)
    nearest = neighbours(words, anchors, 3)  # cosines of the third word: .32 (twice), -.32, -.95
    _, clamped = combine(nearest, source, 3, StitchingOptions(weighting="standard"))
    _, printed = combine(nearest, source, 3, StitchingOptions(weighting="standard", negatives="keep"))
    # 1 + 0 - 1 = 0 as printed; of the word without a direction all are 0; the first and the last cut between equals.
    assert (clamped.rows, clamped.zero, clamped.negative, clamped.vanishing, clamped.ties) == (4, 1, 0, 1, 3)
    assert (printed.negative, printed.vanishing) == (0, 2)
    _, all_four = stitch_all(words, anchors, source, StitchingOptions(weighting="standard", negatives="keep"))
    # 1 + 0 - 1 - 1 < 0; the third word: .32 + .32 - .32 - .95 < 0
    assert (all_four.negative, all_four.vanishing, all_four.ties) == (2, 1, 0)
    assert combine(nearest, source, 3, StitchingOptions(weighting="softmax", tau=0.1))[1].negative == 0


def test_rows_are_scaled_to_the_norm_and_zeros_stay():
    table = to_norm(torch.tensor([[3.0, 4.0], [0.0, 0.0]]), 2.0)
    torch.testing.assert_close(table, torch.tensor([[1.2, 1.6], [0.0, 0.0]]))
