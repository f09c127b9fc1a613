"""One shared space: what stays, what moves, and when a language stays unaligned."""

import numpy as np
import pytest
from scipy.stats import ortho_group

from seedwise.errors import RequestError
from seedwise.trainables.inputs.lexicons import Entry, Lexicon, read_lexicon
from seedwise.trainables.inputs.vectors import Vectors, read_vectors
from seedwise.trainables.static.align import align, fixed_table, hold_out
from seedwise.trainables.static.evaluate import lexicon_induction
from seedwise.trainables.static.mapping import PRESETS, normalise
from seedwise.trainables.static.options import AlignOptions
from tests.conftest import real

WORDS, DIMENSIONS = 200, 12


def vectors(table, prefix="word"):
    return Vectors([f"{prefix}{number}" for number in range(len(table))], table.astype(np.float32), ())


def lexicon(rows, prefix="mot", of=lambda row: row):
    return Lexicon([Entry(f"word{row}", f"{prefix}{of(row)}", None) for row in rows], ())


@pytest.fixture(scope="module")
def fixed():
    return vectors(np.random.default_rng(0).normal(size=(WORDS, DIMENSIONS)) + 0.3)


@pytest.fixture(scope="module")
def turned(fixed):
    """The fixed language in a rotated space, with some noise."""
    noise = 0.1 * np.random.default_rng(1).normal(size=fixed.table.shape)
    return vectors(fixed.table @ ortho_group.rvs(DIMENSIONS, random_state=2) + noise, "mot")


@pytest.fixture(scope="module")
def same_encoder(fixed):
    """A language that is already in the space of the fixed language, up to noise."""
    return vectors(fixed.table + 0.1 * np.random.default_rng(3).normal(size=fixed.table.shape), "mot")


def precision(fixed, options, table):
    pairs = [(f"word{row}", f"mot{row}") for row in range(WORDS)]
    words = [f"mot{row}" for row in range(WORDS)]
    return lexicon_induction(fixed.words, fixed_table(fixed, options), words, table, pairs)["csls_p1"]


@pytest.mark.parametrize("preset", PRESETS)
def test_a_dictionary_aligns_a_rotated_language(fixed, turned, preset):
    options = AlignOptions(preset=preset)
    result = align(fixed, {"fr": turned}, {"fr": lexicon(range(WORDS))}, options, seed=0)["fr"]
    assert result.aligned
    assert result.measure == "precision_at_1"
    assert result.before < 0.2 < 0.9 < result.after
    assert precision(fixed, options, result.table) > 0.95
    assert len(result.pairs) == WORDS - WORDS // 10


@pytest.mark.parametrize("preset", PRESETS)
def test_the_fixed_language_and_every_other_one_are_bit_for_bit_the_same_whoever_else_is_aligned(fixed, turned, preset):
    options = AlignOptions(preset=preset)
    small = vectors(turned.table[:, :7], "mot")
    original = fixed.table.copy()
    alone = align(fixed, {"fr": turned}, {"fr": lexicon(range(WORDS))}, options, seed=0)
    space = fixed_table(fixed, options)
    dictionaries = {"sw": lexicon(range(50)), "fr": lexicon(range(WORDS))}
    together = align(fixed, {"sw": small, "fr": turned}, dictionaries, options, seed=0)
    np.testing.assert_array_equal(fixed.table, original)
    np.testing.assert_array_equal(fixed_table(fixed, options), space)
    np.testing.assert_array_equal(space, normalise(original, PRESETS[preset].normalise))
    np.testing.assert_array_equal(together["fr"].table, alone["fr"].table)
    assert together["sw"].table.shape == space.shape


def test_a_language_that_a_wrong_dictionary_spoils_is_left_unaligned(fixed, same_encoder):
    """The pairs to fit are shuffled, the held-out ones are right."""
    rows = np.arange(WORDS)
    shuffled = rows.copy()
    fitted = rows % 10 != 9
    shuffled[fitted] = np.random.default_rng(0).permutation(rows[fitted])
    dictionary = {"fr": lexicon(range(WORDS), of=lambda row: shuffled[row])}
    options = AlignOptions()
    result = align(fixed, {"fr": same_encoder}, dictionary, options, seed=0)["fr"]
    assert not result.aligned
    assert result.after < 0.3 < 0.9 < result.before
    np.testing.assert_array_equal(result.table, normalise(same_encoder.table, PRESETS["supervised"].normalise))
    forced = align(fixed, {"fr": same_encoder}, dictionary, AlignOptions(selection=False), seed=0)["fr"]
    assert (forced.aligned, forced.before, forced.after, len(forced.pairs)) == (True, None, None, WORDS)
    assert precision(fixed, options, forced.table) < 0.3 < 0.9 < precision(fixed, options, result.table)


def test_without_a_dictionary_mutual_neighbours_decide(fixed, same_encoder):
    """Noise has nothing to match, so induction maps it anywhere; a language already in the space is kept."""
    noise = vectors(np.random.default_rng(9).normal(size=(WORDS, DIMENSIONS)), "bruit")
    options = AlignOptions(patience=3)
    lines = []
    results = align(fixed, {"fr": same_encoder, "xx": noise}, {"fr": None}, options, seed=0, progress=lines.append)
    assert results["fr"].measure == "mutual_csls"
    assert precision(fixed, options, results["fr"].table) > 0.9
    for result in results.values():
        assert result.aligned == (result.after >= result.before)
    assert lines[0].startswith("fr: iteration 1, keeps 0.1, mean cosine ")
    assert any(line.startswith("xx: iteration") for line in lines)


def test_with_different_dimensions_the_alignment_is_always_kept(fixed, turned):
    wide = vectors(np.hstack([turned.table, np.zeros((WORDS, 3))]), "mot")
    result = align(fixed, {"fr": wide}, {"fr": lexicon(range(WORDS))}, AlignOptions(), seed=0)["fr"]
    assert (result.aligned, result.before) == (True, None)
    assert result.after > 0.9
    assert "dimensions differ" in result.notes[-1]


def test_self_learning_makes_up_for_a_small_dictionary(fixed, turned):
    few = {"fr": lexicon(range(4))}
    plain, refined = (
        align(fixed, {"fr": turned}, few, AlignOptions(self_learning=learns, patience=5, keep=0.5), seed=0)["fr"]
        for learns in (False, True)
    )
    assert len(plain.pairs) == 4
    assert len(refined.pairs) == 2 * WORDS
    assert precision(fixed, AlignOptions(), plain.table) < 0.6
    assert precision(fixed, AlignOptions(), refined.table) > 0.95


def test_every_tenth_distinct_word_is_held_out_with_all_its_translations():
    words = np.repeat(np.arange(40), 2)
    pairs = np.stack([np.arange(80), words], axis=1)
    fitted, held = hold_out(pairs, cutoff=100)
    assert sorted(set(held[:, 1].tolist())) == [9, 19, 29, 39]
    assert len(held) == 8
    assert sorted(map(tuple, np.concatenate([fitted, held]))) == sorted(map(tuple, pairs))
    fitted, held = hold_out(pairs, cutoff=30)  # of both sides: words from 15 on have translations beyond it
    assert sorted(set(held[:, 1].tolist())) == [9]
    assert len(hold_out(pairs[:18], cutoff=100)[1]) == 0


def test_a_dictionary_that_no_vector_knows_is_named(fixed, turned):
    with pytest.raises(
        RequestError, match=r"dictionaries\.fr: none of its 3 pairs has vectors on both sides\. A line is"
    ):
        align(fixed, {"fr": turned}, {"fr": lexicon(range(3), prefix="Mot")}, AlignOptions(), seed=0)


def test_self_learning_says_when_the_cutoff_leaves_no_start(fixed, turned):
    options = AlignOptions(self_learning=True, cutoff=20)
    with pytest.raises(RequestError, match=r"dictionaries\.fr: no pair has both its words among the 20 most frequent"):
        align(fixed, {"fr": turned}, {"fr": lexicon(range(100, 105))}, options, seed=0)


@pytest.mark.parametrize(
    ("name", "value"),
    [("preset", "vecmap"), ("keep", 0.0), ("keep_factor", 1.0), ("cutoff", 0), ("dimensions", -1), ("threshold", 0.0)],
)
def test_an_impossible_option_is_named(name, value):
    with pytest.raises(ValueError, match=f"\\b{name}\\b"):
        AlignOptions(**{name: value})


def test_french_vectors_of_300_dimensions_align_with_english_ones_of_100():
    """Published maps of these vectors reach 0.72 at 10 (data/README); test pairs are disjoint from those to fit."""
    paths = real(
        "data/vectors/en.100d.vec.gz",
        "data/vectors/fr.300d.vec.gz",
        "data/lexica/xling-eval/yacle.train.freq.5k.en-fr.tsv",
        "data/lexica/xling-eval/yacle.test.freq.2k.en-fr.tsv",
    )
    english, french = (read_vectors(path, "vectors", rows=5000) for path in paths[:2])
    to_fit, to_test = (read_lexicon(path, "lexicon") for path in paths[2:])
    tested = [(entry.source, entry.target) for entry in to_test.entries]
    scores = {}
    for preset in PRESETS:
        options = AlignOptions(preset=preset, selection=False)
        table = align(english, {"fr": french}, {"fr": to_fit}, options, seed=0)["fr"].table
        scores[preset] = lexicon_induction(english.words, fixed_table(english, options), french.words, table, tested)
    assert scores["supervised"]["csls_p10"] > 0.72
    assert scores["supervised"]["csls_p1"] > scores["orthogonal"]["csls_p1"]
    assert scores["aaai2018"]["csls_p1"] > 0.4
