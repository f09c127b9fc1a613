"""Induction of dictionaries with a known truth, mostly in real vectors."""

import numpy as np
import pytest
from scipy.stats import ortho_group

from seedwise.trainables.inputs.vectors import read_vectors
from seedwise.trainables.static.induce import induce, matches
from seedwise.trainables.static.mapping import normalise
from seedwise.trainables.static.options import AlignOptions
from seedwise.trainables.static.retrieval import unit
from tests.conftest import real

STEPS = ("unit", "centre", "unit")
WORDS = 1000
QUICK = AlignOptions(patience=5)


def halves(first, second, alone, seed):
    """Two languages from one table of words: each in its own order, with `alone` words that the other lacks.

    Also, for each row of the first, the row of the same word in the second, or -1.
    """
    draw = np.random.default_rng(seed)
    words = draw.permutation(len(first))
    of_first, of_second = draw.permutation(words[alone:]), draw.permutation(np.r_[words[:alone], words[2 * alone :]])
    row = {word: number for number, word in enumerate(of_second.tolist())}
    truth = np.array([row.get(word, -1) for word in of_first.tolist()])
    return normalise(first[of_first], STEPS), normalise(second[of_second], STEPS), truth


def right(induced, truth):
    """The share of common words that are matched with themselves: from the first language, and from the second."""
    common = np.flatnonzero(truth >= 0)
    forward, backward = induced[: len(truth)], induced[len(truth) :]
    assert forward[:, 0].tolist() == list(range(len(truth)))
    assert backward[:, 1].tolist() == list(range(len(backward)))
    return np.mean(forward[common, 1] == truth[common]), np.mean(backward[truth[common], 0] == common)


def table(name):
    (path,) = real(f"data/vectors/{name}")
    return read_vectors(path, "vectors", rows=WORDS).table


def test_halves_of_the_words_of_real_vectors_are_matched_without_a_dictionary():
    """Three in seven words of a side are unique; the other side is rotated, noisy, and in another order."""
    vectors = table("en.100d.vec.gz")
    turned = vectors @ ortho_group.rvs(vectors.shape[1], random_state=0)
    noisy = turned + 0.2 * turned.std() * np.random.default_rng(0).normal(size=turned.shape)
    first, second, truth = halves(vectors, noisy, alone=300, seed=0)
    assert min(right(induce(first, second, QUICK, seed=0), truth)) > 0.99


def test_halves_of_the_dimensions_of_real_vectors_are_matched_without_a_dictionary():
    """The sides share no number: each has one half of every vector."""
    vectors = table("fr.300d.vec.gz")
    first, second, truth = halves(vectors[:, 0::2], vectors[:, 1::2], alone=100, seed=0)
    assert min(right(induce(first, second, QUICK, seed=0), truth)) > 0.7


@pytest.fixture(scope="module")
def planted():
    """Words in clusters, like topics; the other language is rotated and noisy, and each has unique words."""
    draw = np.random.default_rng(0)
    clumps = draw.normal(size=(30, 20))
    vectors = clumps[draw.integers(0, 30, size=300)] + 0.7 * draw.normal(size=(300, 20))
    other = vectors @ ortho_group.rvs(20, random_state=1) + 0.1 * draw.normal(size=(300, 20))
    return halves(vectors, other, alone=20, seed=2)


def test_a_small_dictionary_is_enough_of_a_start(planted):
    first, second, truth = planted
    known = np.flatnonzero(truth >= 0)[:15]
    start = np.stack([known, truth[known]], axis=1)
    options = AlignOptions(patience=5, keep=0.3)
    assert min(right(induce(first, second, options, seed=0, start=start), truth)) > 0.95


def test_equal_seeds_give_equal_dictionaries_bit_for_bit_and_others_another_way_there(planted):
    first, second, _ = planted
    ways = []
    for seed in (0, 0, 1):
        steps = []
        pairs = induce(first, second, QUICK, seed=seed, progress=lambda *step, steps=steps: steps.append(step))
        ways.append((steps, pairs.tolist()))
    assert ways[0] == ways[1]
    assert ways[0][0] != ways[2][0]


def test_similarities_are_kept_more_often_whenever_the_objective_stalls(planted):
    first, second, _ = planted
    steps = []
    induce(first, second, AlignOptions(patience=4), seed=0, progress=lambda *step: steps.append(step))
    keeps = [keep for _, keep, _ in steps]
    assert sorted(set(keeps)) == [0.1, 0.2, 0.4, 0.8, 1.0]
    assert keeps == sorted(keeps)
    best, since = -np.inf, 0
    for (_, keep, objective), later in zip(steps, [*keeps[1:], None], strict=True):
        improved = objective >= best + 1e-6
        best, since = (objective, 0) if improved else (best, since + 1)
        if later != keep:
            assert since >= 4
            since = 0


def test_words_beyond_the_cutoff_are_ignored(planted):
    first, second, _ = planted
    options = AlignOptions(patience=2, cutoff=100)
    alone = induce(first[:100], second[:100], options, seed=0)
    spoiled = [np.concatenate([side[:100], 9 * side[100:] ** 2]) for side in (first, second)]
    np.testing.assert_array_equal(induce(*spoiled, options, seed=0), alone)


def test_the_nth_best_is_taken_as_often_as_a_random_mask_takes_it():
    """A mask that keeps each similarity with probability p takes the n-th best with probability p (1 - p)^(n - 1)."""
    draw = np.random.default_rng(0)
    keys = unit(draw.normal(size=(60, 5)))
    queries = unit(np.repeat(draw.normal(size=(1, 5)), 20_000, axis=0))
    pairs, objective = matches(queries, keys, 10, 0.25, draw)
    forward = pairs[: len(queries), 1].numpy()
    best_first = matches(queries[:1], keys, 10)[0][0, 1].item()
    shares = np.sort(np.bincount(forward, minlength=60) / len(queries))[::-1]
    assert forward.tolist().count(best_first) == np.bincount(forward).max()
    np.testing.assert_allclose(shares[:5], [0.25 * 0.75**n for n in range(5)], atol=0.01)
    nearest = (queries[:1] @ keys.T).max().item(), (keys @ queries[0]).mean().item()
    assert objective == pytest.approx(sum(nearest) / 2, abs=1e-5)
