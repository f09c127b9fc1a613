"""Which pairs of a lexicon become anchors, by rules small enough to check by hand."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from seedwise.trainables.inputs.lexicons import Entry
from seedwise.trainables.stitching.anchors import choose, draw, eligible, lexicon_pairs
from seedwise.trainables.stitching.options import PAPER, StitchingOptions

# An encoder with one piece for each of these words; all others are spelled letter by letter, with ids from 100.
PIECES = {"water": 1, "fire": 2, "Monday": 3, "house": 4}
ROWS = {"eau": 0, "feu": 1, "lundi": 2, "Haus": 3, "grand": 4, "feu follet": 5, "maison": 6}


def spell(word):
    if word in PIECES:
        return [PIECES[word]]
    return [] if "?" in word else [100 + ord(letter) - ord("a") for letter in word.lower()]


def casings(word):
    return word.capitalize(), word.lower()


LEXICON = [
    Entry("water", "eau", 0.9),  # 0
    Entry("monday", "lundi", 0.5),  # 1: only its capitalised form is one piece
    Entry("fire", "feu", 0.2),  # 2
    Entry("house", "feu", 0.8),  # 3: a second translation of feu, of better quality
    Entry("house", "haus", None),  # 4: the vectors have it capitalised
    Entry("blaze", "feu", 0.7),  # 5: five pieces
    Entry("fire", "grand feu", 0.6),  # 6: two words
    Entry("water", "rien", 0.9),  # no vector
    Entry("wa?er", "eau", 0.9),  # a letter that the encoder does not know
    Entry("incomprehensible", "maison", 0.9),  # too many pieces
]


@pytest.fixture
def pairs():
    return lexicon_pairs(LEXICON, spell, ROWS.get, casings, frozenset({"feu"}))


def chosen(pairs, **changes):
    return eligible(pairs, StitchingOptions(**changes)).tolist()


def test_a_pair_needs_both_sides(pairs):
    assert len(pairs) == 7
    assert pairs.source[0].tolist() == [1, -1, -1, -1, -1, -1]
    assert pairs.source[5].tolist() == [101, 111, 100, 125, 104, -1]
    assert pairs.target[6].tolist() == [4, 1]
    assert pairs.exact.tolist() == [True, True, True, True, False, True, True]
    assert pairs.capital.tolist() == [-1, 3, -1, -1, -1, -1, -1]


def test_single_pieces_single_words_and_the_best_translation_by_default(pairs):
    assert chosen(pairs) == [0, 1, 3, 4]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"translations": "all"}, [0, 1, 2, 3, 4]),
        ({"anchor_casing": "exact"}, [0, 3]),
        ({"stop_words": "drop"}, [0, 1, 4]),
        ({"pieces": "mean", "translations": "all"}, [0, 1, 2, 3, 4, 5]),
        ({"pieces": "mean", "translations": "all", "anchor_casing": "exact"}, [0, 1, 2, 3, 5]),
        ({"phrases": "mean"}, [0, 1, 3, 4, 6]),
        ({"quality": 0.3, "translations": "all"}, [0, 1, 3, 4]),  # .2 is below the 30 % quantile of .2 .5 .8 .9
        (PAPER, [0, 3]),
    ],
)
def test_each_rule_admits_what_it_says(pairs, changes, expected):
    assert chosen(pairs, **changes) == expected


def test_without_qualities_the_first_translation_counts():
    plain = [entry._replace(quality=None) for entry in LEXICON]
    assert chosen(lexicon_pairs(plain, spell, ROWS.get, casings)) == [0, 1, 2, 4]


def test_several_pieces_and_words_are_means(pairs):
    original, vectors = torch.randn(130, 6), np.random.default_rng(0).normal(size=(7, 4)).astype(np.float32)
    options = StitchingOptions(pieces="mean", phrases="mean", translations="all")
    anchors = choose(pairs, options, 0, vectors, original)
    assert len(anchors) == 7
    torch.testing.assert_close(anchors.source[1], original[3])  # Monday
    exact = StitchingOptions(pieces="mean", translations="all", anchor_casing="exact")
    letters = [100 + ord(letter) - ord("a") for letter in "monday"]
    torch.testing.assert_close(choose(pairs, exact, 0, vectors, original).source[1], original[letters].mean(0))
    torch.testing.assert_close(anchors.source[5], original[[101, 111, 100, 125, 104]].mean(0))
    np.testing.assert_allclose(anchors.target[6], (vectors[4] + vectors[1]) / 2, rtol=1e-6)
    np.testing.assert_array_equal(anchors.target[0], vectors[0])


def test_merged_anchors_are_one_per_source_word_at_the_mean_of_unit_vectors(pairs):
    original, vectors = torch.randn(130, 6), np.random.default_rng(0).normal(size=(7, 4)).astype(np.float32)
    options = StitchingOptions(translations="all", merge_anchors=True)
    anchors = choose(pairs, options, 0, vectors, original)  # water; fire; monday; house with two translations
    torch.testing.assert_close(anchors.source, original[[1, 2, 3, 4]])
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    np.testing.assert_allclose(anchors.target[3], (units[1] + units[3]) / 2, rtol=1e-6)
    np.testing.assert_allclose(anchors.target[0], units[0], rtol=1e-6)


def test_without_pairs_there_are_no_anchors(pairs):
    nothing = pairs.only(np.array([5]))
    assert choose(nothing, StitchingOptions(), 0, np.ones((7, 4), dtype=np.float32), torch.ones(130, 6)) is None


@given(st.integers(1, 300), st.one_of(st.just("all"), st.integers(1, 400), st.floats(0.01, 0.99)), st.integers(0, 9))
def test_a_draw_keeps_the_order_and_the_amount(size, amount, seed):
    indices = np.arange(size) * 3
    kept = draw(indices, amount, seed)
    count = size if amount == "all" else amount if isinstance(amount, int) else max(1, round(amount * size))
    assert len(kept) == min(count, size)
    assert (np.diff(kept) > 0).all()
    assert set(kept) <= set(indices)
    np.testing.assert_array_equal(kept, draw(indices, amount, seed))


def test_the_seed_matters_only_below_all_of_them():
    indices = np.arange(100)
    assert not np.array_equal(draw(indices, 50, 0), draw(indices, 50, 1))
    np.testing.assert_array_equal(draw(indices, 100, 0), draw(indices, "all", 1))
