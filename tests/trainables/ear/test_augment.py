"""Copies with synonyms: how often words change, how synonyms are written, and which part of a dictionary is used."""

import unicodedata
from collections import Counter
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from seedwise.trainables.ear.augment import Dictionary, as_written, bare
from seedwise.trainables.inputs.synonyms import read_synonyms
from tests.conftest import real

WORDS = {
    "good": ("nice", "fine", "well made"),
    "bad": ("poor",),
    "film": (),
    "Paris": ("Lutetia",),
    "at": ("under", "during"),
}
TOKENS = st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1, max_size=6)


def dictionary(words=WORDS, **changes):
    return Dictionary(words, **{"scale": 1.0, "seed": 0, "exact": False, **changes})


@pytest.mark.parametrize("token", ["good", "bad", "at"])
def test_a_word_of_n_synonyms_is_replaced_in_n_of_n_plus_one_copies_by_each_equally_often(token):
    frequencies = Counter(dictionary().replaced(token, Random(f"draw/{number}")) for number in range(6000))
    assert frequencies.keys() == {token, *WORDS[token]}
    assert chisquare([*frequencies.values()]).pvalue > 1e-4
    synonyms = len(WORDS[token])
    assert 1 - frequencies[token] / 6000 == pytest.approx(synonyms / (synonyms + 1), abs=0.025)


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        ("good", ["nice", "fine", "well made"]),
        ("good,", ["nice,", "fine,", "well made,"]),
        ("Good,", ["Nice,", "Fine,", "Well made,"]),
        ('"GOOD!?"', ['"NICE!?"', '"FINE!?"', '"WELL MADE!?"']),
        ("(Paris)", ["(Lutetia)"]),
        ("PARIS", []),  # capitalised words match only lower-case entries of the dictionary
        ("paris", []),
        ("film", []),
        ("goods", []),
        ("good-bad", []),
        ("...", []),
    ],
)
def test_loose_matching_keeps_case_and_signs(token, expected):
    assert list(dictionary().synonyms_of(token)) == expected


@pytest.mark.parametrize(
    ("token", "expected"),
    [("good", WORDS["good"]), ("Good", ()), ("GOOD", ()), ("good,", ()), ("Paris", ("Lutetia",)), ("film", ())],
)
def test_exact_matching_finds_a_token_as_it_stands_or_not_at_all(token, expected):
    assert dictionary(exact=True).synonyms_of(token) == expected
    if not expected:
        assert all(dictionary(exact=True).replaced(token, Random(seed)) == token for seed in range(50))


@given(st.text(max_size=8))
def test_bare_takes_a_token_apart_at_its_outermost_letters(token):
    before, word, after = bare(token)
    assert before + word + after == token
    letters = [letter for letter in token if letter.isalnum() or unicodedata.category(letter)[0] == "M"]
    assert not any(letter in letters for letter in before + after)
    assert not word or (word[0] in letters and word[-1] in letters)
    assert word or not letters


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        ("good", ("", "good", "")),
        ("«don't»,", ("«", "don't", "»,")),
        ("...", ("...", "", "")),
        ("", ("", "", "")),
        ("3%", ("", "3", "%")),
        ("(हिन्दी)।", ("(", "हिन्दी", ")।")),  # vowel signs are combining marks and part of the word
    ],
)
def test_bare_by_hand(token, expected):
    assert bare(token) == expected


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("good", "nice"),
        ("Good", "Nice"),
        ("GOOD", "NICE"),
        ("I", "Nice"),
        ("gOOD", "nice"),
        ("4", "nice"),
        ("", "nice"),
    ],
)
def test_as_written_by_hand(word, expected):
    assert as_written(word, "nice") == expected


@given(st.text(st.sampled_from("abcXYZ'-1"), max_size=6), st.text(st.sampled_from("abcXYZ' "), max_size=6))
def test_as_written_changes_capitals_only(word, synonym):
    written = as_written(word, synonym)
    assert written.lower() == synonym.lower()
    assert written[1:] == synonym[1:] or word.isupper()
    if word.islower():
        assert written == synonym


@given(
    st.lists(st.lists(TOKENS | st.sampled_from(["Good,", "at", "BAD", "film"])), min_size=1, max_size=2), st.integers()
)
def test_a_copy_has_as_many_words_and_says_how_many_changed(sentences, seed):
    sentences = tuple(sentences)
    for exact in (False, True):
        synonyms = dictionary(exact=exact)
        copied, changed = synonyms.copy(sentences, Random(seed))
        assert synonyms.copy(sentences, Random(seed)) == (copied, changed)
        assert [len(words) for words in copied] == [len(words) for words in sentences]
        pairs = [
            (new, old)
            for copy, original in zip(copied, sentences, strict=True)
            for new, old in zip(copy, original, strict=True)
        ]
        assert changed == sum(new != old for new, old in pairs)
        assert all(new in (old, *synonyms.synonyms_of(old)) for new, old in pairs)


def test_two_synonyms_in_one_stay_one_word():
    words = {"good": ("well made",)}
    copies = [dictionary(words).copy((["A", "good", "film"],), Random(seed)) for seed in range(40)]
    assert {tuple(sentence) for (sentence,), _ in copies} == {("A", "good", "film"), ("A", "well made", "film")}


def test_different_seeds_give_different_copies():
    sentence = (["good", "bad"] * 10,)
    copies = {tuple(dictionary().copy(sentence, Random(seed))[0][0]) for seed in range(20)}
    assert len(copies) == 20


def test_a_dictionary_without_a_word_leaves_all_as_it_is():
    assert dictionary({}).copy((["good", "film"], []), Random(0)) == ((["good", "film"], []), 0)


@given(st.integers(1, 200), st.integers(0, 5))
def test_parts_of_a_dictionary_are_nested_and_drawn_by_their_seed(size, seed):
    words = {f"word{number}": ("other",) for number in range(size)}
    scales = [0.1, 0.25, 0.5, 0.75, 0.9, 1.0]
    parts = [set(dictionary(words, scale=scale, seed=seed).words) for scale in scales]
    for smaller, larger in pairwise(parts):
        assert smaller <= larger
    assert parts[-1] == words.keys()
    for scale, part in zip(scales, parts, strict=True):
        assert scale * size - 1 < len(part) <= scale * size
        assert part == set(dictionary(words, scale=scale, seed=seed).words)


def test_a_different_seed_draws_a_different_part():
    words = {f"word{number}": ("other",) for number in range(100)}
    first, second = (set(dictionary(words, scale=0.5, seed=seed).words) for seed in range(2))
    assert 10 < len(first & second) < 40  # 25 by chance


def test_parts_of_the_real_dictionary_are_counted_as_the_paper_counts_them():
    (path,) = real("data/ear/counterfitted_neighbors.json")
    words = read_synonyms(path, "k").words
    assert len(words) == 49975
    assert len(dictionary(words).words) == 25591  # the other words have no synonym
    for scale, size in ((0.75, 37481), (0.5, 24987), (0.25, 12493)):
        # Every word has one here, so that the part shows which words were drawn, those without synonyms too.
        drawn = set(dictionary(dict.fromkeys(words, ("x",)), scale=scale, seed=3).words)
        assert len(drawn) == size
        assert set(dictionary(words, scale=scale, seed=3).words) == {word for word in drawn if words[word]}
    usable = dictionary(words).words
    assert sum(map(len, usable.values())) / len(usable) == pytest.approx(4.26, abs=0.005)
    assert sum(len(synonyms) / (len(synonyms) + 1) for synonyms in usable.values()) / len(usable) == pytest.approx(
        0.74, abs=0.005
    )
    assert {"under", "during"} <= set(usable["at"])
