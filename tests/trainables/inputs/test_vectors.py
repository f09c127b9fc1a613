import gzip
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from seedwise.errors import RequestError
from seedwise.trainables.inputs import vectors, vectors_text
from seedwise.trainables.inputs.vectors import read_vectors
from tests.conftest import real

KEY = "inputs.vectors.xx"


def written(folder, name, content):
    path = folder / name
    path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    return path


def lines(count, dimensions, start=0):
    return "".join(f"w{start + i} " + " ".join(["0.5"] * dimensions) + "\n" for i in range(count)).encode()


def binary(words, table, *, end=b"\n"):
    rows = zip(words, table, strict=True)
    entries = (word + b" " + struct.pack(f"<{len(row)}f", *row) + end for word, row in rows)
    return f"{len(words)} {len(table[0])}\n".encode() + b"".join(entries)


@pytest.mark.parametrize("header", ["4 2\n", "", "\ufeff4 2\r\n"])
@pytest.mark.parametrize("name", ["a.vec", "a.vec.gz", "a.txt"])
def test_text_with_and_without_header_and_compression(tmp_path, header, name):
    text = header + "the 1 2 \nfür -3 4.5e-1\r\nthe 9 9\n\n5 000\t1\t+2\n"
    path = written(tmp_path, name, text.encode())
    result = read_vectors(path, KEY, rows=10)
    assert result.words == ["the", "für", "5 000"]
    np.testing.assert_array_equal(result.table, np.array([[1, 2], [-3, 0.45], [1, 2]], dtype=np.float32))
    assert result.notes == (f"1 repeated word (line {4 if header else 3})",)
    assert read_vectors(path, KEY, rows=1).words == ["the"]
    assert read_vectors(path, KEY, rows=1).notes == ()  # later lines are not read


NUMBERS = st.floats(width=32, allow_nan=False, allow_infinity=False)
SPELLING = st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1)


@settings(max_examples=40)
@given(
    st.lists(SPELLING, min_size=1, max_size=8, unique=True),
    st.integers(2, 5).flatmap(lambda d: arrays(np.float32, (8, d), elements=NUMBERS)),
)
def test_what_is_written_is_read_bit_for_bit(tmp_path_factory, words, table):
    table = table[: len(words)]
    text = f"{len(words)} {table.shape[1]}\n"
    text += "".join(f"{word} {' '.join(map(repr, row.tolist()))}\n" for word, row in zip(words, table, strict=True))
    path = written(tmp_path_factory.mktemp("vectors"), "a.vec", text.encode())
    result = read_vectors(path, KEY, rows=10)
    assert result.words == words
    np.testing.assert_array_equal(result.table, table)


def test_malformed_lines_are_left_out_counted_and_named(tmp_path, monkeypatch):
    monkeypatch.setattr(vectors_text, "BLOCK", 4)  # several blocks
    content = b"a 1 2\nb 1\nc 1 x\nd nan 1\ne 1 -inf\n 1 2\ng 1e60 1\nh 3 4\ni 5 6\nNA 7 8\nj 9 0.1-0.2\n"
    result = read_vectors(written(tmp_path, "a.vec", content), KEY, rows=10)
    assert result.words == ["a", "h", "i", "NA"]
    np.testing.assert_array_equal(result.table, [[1, 2], [3, 4], [5, 6], [7, 8]])
    assert result.notes == ("7 malformed lines (line 2, 3, 4, 5, 6, ...)",)


def test_a_header_that_promises_more_is_noted(tmp_path):
    path = written(tmp_path, "a.vec", b"5 3\n" + lines(2, 3))
    assert read_vectors(path, KEY, rows=9).notes == ("2 lines, but the header says 5",)
    assert read_vectors(path, KEY, rows=2).notes == ()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"3 4\n" + lines(3, 2), "line 2 has 2 numbers, but the header says 4; 3 of 3 lines are wrong"),
        (b"3 2\n" + lines(3, 4), "line 2 has 4 numbers, but the header says 2; 3 of 3 lines are wrong"),
        (lines(1, 5) + lines(20, 4, 1), "line 2 has 4 numbers, but the first line has 5; 20 of 21 lines"),
        (lines(1000, 4) + lines(11, 3, 1000), "line 1001 has 3 numbers, but the first line has 4; 11 of 1011"),
        (b"5000 9\n" + lines(5000, 4), "line 2 has 4 numbers, but the header says 9; 1000 of 1000 lines"),
        (b"a 1 2\n\xff 1 2\n", "line 2 is not UTF-8"),
        (b"once upon a time\n", "line 1 has no numbers"),
        (b"", "is empty"),
        (b"3 9000000000\n" + lines(3, 2), "line 1 promises 9000000000 dimensions"),
        (b"2 3\n", "holds no vectors"),
        (b"0 0\n", "line 1 has no numbers"),
    ],
)
def test_errors_of_bad_text_name_key_file_and_line(tmp_path, content, message):
    path = written(tmp_path, "bad.vec", content)
    with pytest.raises(RequestError, match=f"{KEY}: .*bad.vec {message}"):
        read_vectors(path, KEY, rows=10**6)


def test_ten_wrong_lines_or_one_in_a_hundred_are_only_noted(tmp_path):
    few = read_vectors(written(tmp_path, "few.vec", lines(20, 4) + lines(10, 3, 20)), KEY, rows=100)
    many = read_vectors(written(tmp_path, "many.vec", lines(1980, 4) + lines(20, 3, 1980)), KEY, rows=2000)
    assert (len(few.words), len(many.words)) == (20, 1980)
    assert few.notes[0].startswith("10 malformed lines (line 21,")
    assert many.notes[0].startswith("20 malformed lines (line 1981,")


@pytest.mark.parametrize("name", ["cut.vec.gz", "cut.bin.gz"])
def test_a_cut_or_damaged_archive_is_an_error(tmp_path, name):
    words = [b"w%d" % i for i in range(1000)]
    text = b"".join(b"%s %d 2\n" % (word, i) for i, word in enumerate(words))
    whole = gzip.compress(binary(words, np.arange(2000).reshape(1000, 2)) if "bin" in name else text)
    for content in (whole[: len(whole) // 2], whole[:100] + b"\0\xff" * 20 + whole[140:], b"no archive"):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(RequestError, match=f"{KEY}: .*{name}.*[Ww]hole file"):
            read_vectors(path, KEY, rows=10**6)


@pytest.mark.parametrize("end", [b"\n", b""])
@pytest.mark.parametrize("name", ["a.bin", "a.bin.gz"])
def test_word2vec_binary(tmp_path, name, end, monkeypatch):
    monkeypatch.setattr("seedwise.trainables.inputs.vectors_binary.CHUNK", 7)  # entries across chunks
    words = ["the", "für", "the", "cut\udcc3", "bad", "end"]
    table = [[1.5, -2.0], [0.1, 3.0], [9.0, 9.0], [1.0, 1.0], [np.nan, 1.0], [5.0, 6.0]]
    content = binary([word.encode(errors="surrogateescape") for word in words], table, end=end)
    path = written(tmp_path, name, content)
    result = read_vectors(path, KEY, rows=10)
    assert result.words == ["the", "für", "end"]
    np.testing.assert_array_equal(result.table, np.array(table, dtype=np.float32)[[0, 1, 5]])
    assert result.notes == ("2 malformed vectors (entry 4, 5)", "1 repeated word (entry 3)")
    assert read_vectors(path, KEY, rows=2).words == ["the", "für"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (binary([b"a", b"b"], [[1.0, 2.0]] * 2)[:-3], "ends within word 2 of 2"),
        (binary([b"a", b"b"], [[1.0, 2.0]] * 2)[:14], "ends within word 1 of 2|ends within word 2 of 2"),
        (b"3 2\n" + b"x" * 3_000_000, "ends within word 1 of 3"),
        (b"3 9000000000\nabc", "line 1 promises 9000000000 dimensions"),
        (b"the 1 2\n", "does not begin with `count dimension`"),
        (b"", "does not begin with `count dimension`"),
    ],
)
def test_bad_binaries(tmp_path, content, message):
    path = written(tmp_path, "bad.bin", content)
    with pytest.raises(RequestError, match=f"{KEY}: .*bad.bin ({message})"):
        read_vectors(path, KEY, rows=10)


def test_a_word_with_a_line_feed_shifts_no_other_word(tmp_path):
    path = written(tmp_path, "a.bin", binary([b"a", b"x\ny", b"c"], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    result = read_vectors(path, KEY, rows=10)
    assert result.words == ["a", "c"]
    np.testing.assert_array_equal(result.table, [[1, 2], [5, 6]])
    assert result.notes == ("1 malformed vector (entry 2)",)


def test_a_text_file_named_bin_is_refused(tmp_path):
    path = written(tmp_path, "text.bin", b"400 20\n" + lines(400, 20))
    with pytest.raises(RequestError, match=r"text.bin is text, not word2vec's binary format"):
        read_vectors(path, KEY, rows=10**6)


def test_gensim_reads_the_same(tmp_path):
    models = pytest.importorskip("gensim.models")
    keyed = models.KeyedVectors(7)
    words = [f"wort{i}" for i in range(50)]
    keyed.add_vectors(words, np.random.default_rng(0).normal(size=(50, 7)).astype(np.float32))
    for name, is_binary in (("g.vec", False), ("g.bin", True)):
        keyed.save_word2vec_format(str(tmp_path / name), binary=is_binary)
        result = read_vectors(tmp_path / name, KEY, rows=40)
        again = models.KeyedVectors.load_word2vec_format(str(tmp_path / name), binary=is_binary, limit=40)
        assert result.words == again.index_to_key
        np.testing.assert_array_equal(result.table, again.vectors)


def test_a_second_reading_does_not_parse_and_follows_the_content(tmp_path, monkeypatch):
    path = written(tmp_path, "a.vec", b"a 1 2\nb 3 4\nbad 1\n")
    first = read_vectors(path, KEY, rows=10)
    monkeypatch.setattr(vectors, "read_text", lambda *_: pytest.fail("parsed again"))
    copy = written(tmp_path, "copy.vec", path.read_bytes())
    second = read_vectors(copy, KEY, rows=10)
    assert (second.words, second.notes) == (first.words, first.notes)
    np.testing.assert_array_equal(second.table, first.table)
    assert isinstance(second.table, np.memmap)
    monkeypatch.undo()
    path.write_bytes(b"c 1 2\n")
    assert read_vectors(path, KEY, rows=10).words == ["c"]


def test_real_vectors_against_a_plain_reading():
    (path,) = real("data/vectors/sw.100d.vec.gz")
    result = read_vectors(path, KEY, rows=2000)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        plain = [next(file).split() for _ in range(2001)][1:]
    assert result.words == [fields[0] for fields in plain]
    np.testing.assert_array_equal(result.table, np.array([fields[1:] for fields in plain], dtype=np.float32))
    assert result.notes == ()
