"""Corpora as streams: the filters against a plain reading of the whole text, and a shuffle in little memory."""

import gzip
import tracemalloc
from collections import Counter
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from seedwise.errors import RequestError
from seedwise.trainables.static.corpus import Filters, LeftOut, sentences, shuffled
from seedwise.trainables.world import path as world

ALL = Filters(least_words=0, least_sentences=1)
SEVEN = "one two three four five six seven"


def written(folder, text, name="corpus.txt"):
    file = folder / name
    data = text if isinstance(text, bytes) else text.encode()
    file.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return file


def read(file, filters=None, **options):
    left_out = LeftOut()
    return list(sentences(file, "text", filters or Filters(), left_out=left_out, **options)), left_out


@pytest.mark.parametrize("name", ["corpus.txt", "corpus.txt.gz"])
def test_short_sentences_lone_ones_and_overlong_lines_are_left_out_and_counted(tmp_path, name):
    lines = ["A headline of no less than seven words", "", f"  {SEVEN}\t", "only six words are here now\r"]
    lines += [f"{SEVEN} {'x' * 2000}", "", f"{SEVEN} a\r", f"{SEVEN} b"]
    kept, left_out = read(written(tmp_path, "\n".join(lines), name))
    assert kept == [SEVEN, f"{SEVEN} a", f"{SEVEN} b"]
    assert left_out.notes() == (
        "1 short sentence (line 4)",
        "1 small-paragraph sentence (line 1)",
        "1 overlong line (line 5)",
    )


def test_a_file_without_blank_lines_has_no_paragraphs_to_judge(tmp_path):
    assert read(written(tmp_path, SEVEN))[0] == [SEVEN]
    assert read(written(tmp_path, SEVEN + "\n\n"))[0] == []


def test_reading_ends_when_there_are_enough_sentences(tmp_path):
    lines = [f"{SEVEN} {number}" for number in range(5)]
    file = written(tmp_path, "\n".join([*lines[:2], "short", *lines[2:]]))
    kept, left_out = read(file, Filters(most_sentences=2))
    assert kept == lines[:2]
    assert left_out.notes() == ("1 short sentence (line 3)", "all from line 4 on, unread")
    assert read(file, Filters(most_sentences=5))[1].unread_from == 0


def test_words_are_counted_by_the_callers_own_splitting(tmp_path):
    file = written(tmp_path, "我们今天去学校\n我们")
    assert read(file)[0] == []
    assert read(file, words=list)[0] == ["我们今天去学校"]


LINES = st.lists(st.sampled_from(["", " ", "a", "a b", "a b c", "a b c d e f"]), max_size=30)


@given(LINES, st.integers(0, 4), st.integers(0, 4), st.integers(1, 12))
@settings(max_examples=100)
def test_the_stream_is_what_a_reading_of_the_whole_text_finds(tmp_path_factory, lines, words, least, longest):
    file = written(tmp_path_factory.mktemp("corpus"), "\n".join(lines))
    paragraphs, expected = [[]], []
    for line in lines:
        if line.strip():
            paragraphs[-1].append(line)
        else:
            paragraphs.append([])
    for paragraph in paragraphs:
        if len(paragraph) >= least or len(paragraphs) == 1:
            expected += [line for line in paragraph if len(line.split()) >= words and len(line) <= longest]
    kept, left_out = read(file, Filters(least_words=words, least_sentences=least, longest=longest))
    assert kept == expected
    left = left_out.short.count + left_out.lonely.count + left_out.long.count
    assert len(kept) + left == sum(bool(line.strip()) for line in lines)


def test_the_worlds_corpus_is_read_whole_but_for_its_short_sentences():
    lines = gzip.decompress(world("text/qan.txt.gz").read_bytes()).decode().splitlines()
    kept, left_out = read(world("text/qan.txt.gz"))
    assert kept == [line for line in lines if len(line.split()) >= 7]
    assert left_out.short.count == 4000 - len(kept) > 0


@pytest.mark.parametrize(
    ("data", "name", "said"),
    [
        (b"fine\nalso \xc3\xa9\nnot \xff\n", "corpus.txt", "line 3 is not UTF-8"),
        (gzip.compress(b"fine\n" * 9999)[:-20], "cut.gz", "Name a whole file"),
        (b"no archive", "wrong.gz", "Name a whole file"),
    ],
    ids=["not UTF-8", "cut archive", "no archive"],
)
def test_a_file_that_cannot_be_read_is_named_with_what_to_do(tmp_path, data, name, said):
    file = tmp_path / name
    file.write_bytes(data)
    with pytest.raises(RequestError, match=said) as raised:
        read(file, ALL)
    assert str(raised.value).startswith(f"text: {file}")


def test_a_missing_file_is_an_error_and_a_byte_order_mark_is_no_letter(tmp_path):
    with pytest.raises(RequestError, match=r"gone\.txt"):
        read(tmp_path / "gone.txt")
    assert read(written(tmp_path, "word".encode("utf-8-sig")), ALL)[0] == ["word"]


def test_memory_depends_neither_on_the_number_of_lines_nor_on_their_length(tmp_path):
    many = written(tmp_path, f"{SEVEN}\n" * 20_000, "many.txt")
    long = written(tmp_path, "x" * 1_000_000 + f"\n{SEVEN}\n", "long.txt")
    for file, count in ((many, 20_000), (long, 1)):
        tracemalloc.start()
        assert sum(1 for _ in sentences(file, "text", Filters())) == count
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 200_000


@pytest.mark.parametrize("values", [{"most_sentences": 0}, {"longest": 0}, {"least_words": "7"}])
def test_impossible_values_are_refused(values):
    with pytest.raises(ValueError, match=next(iter(values))):
        Filters(**values)


class Watched:
    """Numbers from 0; counts how many were taken."""

    def __init__(self, count):
        self.count, self.taken = count, 0

    def __iter__(self):
        for number in range(self.count):
            self.taken += 1
            yield number


@given(st.integers(0, 60), st.integers(1, 70), st.integers(0, 2**63 - 1))
@settings(max_examples=100)
def test_a_shuffle_is_a_repeatable_permutation_that_holds_no_more_than_its_size(count, size, seed):
    source, drawn = Watched(count), []
    for item in shuffled(source, size, seed):
        assert source.taken - len(drawn) <= size
        assert item < len(drawn) + size  # no item is more than `size` positions early
        drawn.append(item)
    assert sorted(drawn) == list(range(count))
    assert drawn == list(shuffled(range(count), size, seed))


def test_seeds_shuffle_differently_and_all_orders_are_equally_likely():
    assert len({tuple(shuffled(range(50), 10, seed)) for seed in range(20)}) == 20
    orders = Counter(tuple(shuffled("abc", 3, seed)) for seed in range(3000))
    assert chisquare([orders[order] for order in permutations("abc")]).pvalue > 0.001
