"""Precision of translation on cases made by hand and against loops; word similarity against scipy."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from seedwise.trainables.static.evaluate import lexicon_induction, spearman, word_similarity

SIX = np.eye(6)
ENGLISH = ["one", "two", "three", "four", "five", "six"]
FRENCH = ["un", "deux", "trois", "quatre", "cinq", "six"]


def test_a_perfect_space_translates_everything():
    scores = lexicon_induction(ENGLISH, SIX, FRENCH, SIX, zip(ENGLISH, FRENCH, strict=True), ks=(1, 5))
    assert scores == {
        "words": 6.0,
        "coverage": 1.0,
        **{f"{kind}_p{k}{part}": 1.0 for kind in ("nn", "csls") for k in (1, 5) for part in ("", "_all")},
    }


def test_any_translation_counts_and_words_without_vectors_are_left_out_or_wrong():
    pairs = [
        ("one", "uni"),  # no vector, but the next pair has one: right
        ("one", "un"),
        ("two", "trois"),  # wrong at 1
        ("three", "trois"),  # right
        ("four", "vier"),  # its translation has no vector
        ("seven", "six"),  # has no vector itself
    ]
    scores = lexicon_induction(ENGLISH, SIX, FRENCH, SIX, pairs, ks=(1, 6))
    assert scores["words"] == 5
    assert scores["coverage"] == pytest.approx(3 / 5)
    assert scores["nn_p1"] == pytest.approx(2 / 3)
    assert scores["nn_p1_all"] == pytest.approx(2 / 5)
    assert scores["nn_p6"] == 1
    assert scores["nn_p6_all"] == pytest.approx(3 / 5)


def test_where_no_pair_has_vectors_there_is_no_precision_but_the_count_over_all_is_zero():
    scores = lexicon_induction(ENGLISH, SIX, FRENCH, SIX, [("seven", "sept")], ks=(1,))
    assert scores["coverage"] == scores["nn_p1_all"] == scores["csls_p1_all"] == 0
    assert math.isnan(scores["nn_p1"])
    assert math.isnan(scores["csls_p1"])


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_precision_is_that_of_loops(seed):
    draw = np.random.default_rng(seed)
    source, target = draw.normal(size=(15, 3)), draw.normal(size=(20, 3))
    words = [str(number) for number in range(20)]
    pairs = [(str(a), str(b)) for a, b in draw.integers(0, 25, size=(12, 2))]
    measured = lexicon_induction(words[:15], source, words, target, pairs, ks=(1, 3), neighbours=4)
    cosine = (source / np.linalg.norm(source, axis=1)[:, None]) @ (target / np.linalg.norm(target, axis=1)[:, None]).T
    crowding = np.sort(cosine, axis=0)[-4:].mean(axis=0)
    usable = [(int(a), int(b)) for a, b in pairs if int(a) < 15 and int(b) < 20]
    for name, scores in (("nn", cosine), ("csls", 2 * cosine - crowding)):
        for k in (1, 3):
            hits = {a: set(np.argsort(-scores[a])[:k]) & {b for x, b in usable if x == a} for a, _ in usable}
            right = sum(map(bool, hits.values()))
            assert measured[f"{name}_p{k}_all"] == pytest.approx(right / len({a for a, _ in pairs}))
            if usable:
                assert measured[f"{name}_p{k}"] == pytest.approx(right / len(hits))


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-3, 3)), min_size=2, max_size=30))
def test_spearman_is_scipys_with_ties(values):
    first, second = np.array(values, dtype=float).T
    if len(set(first)) == 1 or len(set(second)) == 1:
        assert math.isnan(spearman(first, second))
    else:
        assert spearman(first, second) == pytest.approx(spearmanr(first, second).statistic, abs=1e-12)


def test_similarity_within_a_language_is_the_correlation_of_cosines():
    draw = np.random.default_rng(0)
    words, table = [f"w{number}" for number in range(10)], draw.normal(size=(10, 4))
    rows = draw.permutation([(a, b) for a in range(10) for b in range(a)])[:25]
    scores = draw.integers(0, 5, size=25)
    judged = [(words[a], words[b], score) for (a, b), score in zip(rows, scores, strict=True)]
    cosines = [table[a] @ table[b] / np.linalg.norm(table[a]) / np.linalg.norm(table[b]) for a, b in rows]
    measured = word_similarity(words, table, words, table, [*judged, ("w1", "unknown", 3.0)])
    assert measured["spearman"] == pytest.approx(spearmanr(cosines, scores).statistic, abs=1e-6)
    assert measured["coverage"] == pytest.approx(25 / 26)
    assert measured["pairs"] == 26


def test_similarity_across_languages_looks_each_word_up_on_its_side():
    english, french = ["cat", "dog", "car"], ["chat", "chien", "cat"]
    here = np.array([[1.0, 0], [0.8, 0.6], [0, 1]])
    there = np.array([[1.0, 0], [0.6, 0.8], [-1, 0]])
    judged = [("cat", "chat", 4), ("dog", "chat", 3), ("car", "chat", 2), ("cat", "cat", 1)]  # cosines 1, .8, 0, -1
    assert word_similarity(english, here, french, there, judged)["spearman"] == pytest.approx(1)
    assert word_similarity(french, there, english, here, judged)["coverage"] == 1 / 4  # cat, cat


def test_phrases_are_the_mean_of_their_words_and_forms_are_tried():
    words = ["united", "states", "Paris", "new york", "zero", "new", "york"]
    table = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1], [0, 0, 0], [5, 0, 0], [0, 5, 0]])
    judged = [
        ("United States", "states", 3.0),  # cosine 0.71
        ("United States", "paris", 1.0),  # 0
        ("New York", "Paris", 2.0),  # 0.58: a phrase with a vector of its own is not taken apart
        ("United Nations", "paris", 5.0),  # a word is missing
        ("zero", "paris", 5.0),  # a row of zeros is no vector
    ]
    scores = word_similarity(words, table, words, table, judged)
    assert scores["spearman"] == pytest.approx(1)
    assert scores["coverage"] == pytest.approx(3 / 5)


def test_no_pairs_have_no_correlation():
    scores = word_similarity(ENGLISH, SIX, ENGLISH, SIX, [])
    assert math.isnan(scores["spearman"])
    assert math.isnan(scores["coverage"])
