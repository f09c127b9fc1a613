"""Counting words, against a plain count of everything."""

import gzip
import tracemalloc
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seedwise.trainables.inputs.words import Words
from seedwise.trainables.static.vocabulary import count_words
from seedwise.trainables.world import path as world

PLAIN = Words([], "en", splitting="whitespace", casing=True)


def as_dict(vocabulary):
    return dict(zip(vocabulary.words, vocabulary.counts.tolist(), strict=True))


def test_the_words_of_the_world_are_those_of_a_plain_count():
    lines = gzip.decompress(world("text/qan.txt.gz").read_bytes()).decode().splitlines()
    counts = Counter(word for line in lines for word in line.split())
    expected = sorted((word for word, count in counts.items() if count >= 10), key=lambda word: (-counts[word], word))
    counted = count_words(lines, Words([], "qan", splitting="unicode", casing=True))
    assert counted.words == expected
    assert counted.counts.tolist() == [counts[word] for word in expected]
    assert (counted.sentences, counted.rare, counted.pruned) == (4000, len(counts) - len(expected), 0)


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("tr", "IŞIK ışık Işık İzmir izmir", {"ışık": 3, "izmir": 2}),
        ("tur_Latn", "Ankara'dan ankara", {"ankara": 2, "'": 1, "dan": 1}),
        ("en", "I am, I said: AM I?", {"i": 3, "am": 2, ",": 1, ":": 1, "?": 1, "said": 1}),
        ("fr", "E\u0301te\u0301, été", {"été": 2, ",": 1}),
    ],
)
def test_words_are_split_and_brought_to_lower_case_as_their_language_does(language, text, expected):
    words = Words([], language, splitting="unicode", casing=True)
    assert as_dict(count_words([text], words, least=1)) == expected


@given(st.permutations(["b b b", "a a a", "c c", "d d d d", "e"]))
@settings(max_examples=20)
def test_the_order_is_by_count_then_by_letters_whatever_comes_first(texts):
    assert count_words(texts, PLAIN, least=2).words == ["d", "a", "b", "c"]
    assert count_words(texts, PLAIN, least=2, rows=2).words == ["d", "a"]


@given(st.lists(st.integers(0, 30).map(lambda number: f"w{int(number**1.5)}"), max_size=300), st.integers(4, 40))
@settings(max_examples=60)
def test_with_too_little_room_counts_are_too_low_by_no_more_than_what_was_forgotten(stream, room):
    exact, counted = Counter(stream), count_words(stream, PLAIN, least=1, room=room)
    short = counted.pruned * (counted.pruned + 1) // 2
    counts = as_dict(counted)
    assert len(counts) <= room
    for word, count in exact.items():
        assert count - short <= counts.get(word, 0) <= count
    if len(exact) <= room:
        assert (counts, counted.pruned) == (exact, 0)


def test_memory_is_that_of_the_room_and_not_of_all_different_words():
    tracemalloc.start()
    counted = count_words((f"often w{number}" for number in range(20_000)), PLAIN, room=500)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert as_dict(counted) == {"often": 20_000}
    assert peak < 500_000  # 20 000 words take more than 2 MB
