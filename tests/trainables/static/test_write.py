"""Files of vectors, as the reader of the project and gensim read them."""

import gzip

import numpy as np
import pytest
from gensim.models import KeyedVectors
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from seedwise.errors import RequestError
from seedwise.trainables.inputs.vectors import read_vectors
from seedwise.trainables.inputs.vectors_text import read_text
from seedwise.trainables.static.write import write_vectors

WORDS = ["the", '"', "l'eau", "a,b", "日本", "1999", "#"]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SEEDWISE_CACHE", str(tmp_path / "cache"))


def table(rows=7, dimensions=3):
    return np.random.default_rng(0).normal(size=(rows, dimensions)).astype(np.float32)


@pytest.mark.parametrize("name", ["fr.vec", "fr.vec.gz"])
def test_what_is_written_is_read_again_bit_for_bit(tmp_path, name):
    path = tmp_path / "new folder" / name
    write_vectors(path, WORDS, table())
    vectors = read_vectors(path, "vectors", rows=100)
    assert vectors.words == WORDS
    assert vectors.notes == ()
    np.testing.assert_array_equal(vectors.table, table())
    assert [file.name for file in path.parent.iterdir()] == [name]  # and nothing temporary


def test_gensim_reads_it(tmp_path):
    write_vectors(tmp_path / "fr.vec", WORDS, table())
    vectors = KeyedVectors.load_word2vec_format(tmp_path / "fr.vec")
    assert vectors.index_to_key == WORDS
    np.testing.assert_array_equal(vectors.vectors, table())


def test_blocks_follow_each_other(tmp_path):
    words = [f"w{number}" for number in range(2300)]
    write_vectors(tmp_path / "many.vec", words, table(2300, 2))
    lines = (tmp_path / "many.vec").read_text(encoding="utf-8").split("\n")
    assert lines[0] == "2300 2"
    assert [line.split(" ")[0] for line in lines[1:-1]] == words
    np.testing.assert_array_equal(
        np.array([line.split(" ")[1:] for line in lines[1:-1]], dtype=np.float32), table(2300, 2)
    )


@settings(max_examples=30)
@given(arrays.arrays(np.float32, (2, 3), elements=st.floats(width=32, allow_nan=False, allow_infinity=False)))
def test_every_finite_number_survives(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("vectors") / "two.vec"
    write_vectors(path, ["a", "b"], values)
    with open(path, "rb") as file:
        _, blocks, _ = read_text(file, "TEXT", path, 2)
    np.testing.assert_array_equal(np.concatenate(blocks), values)


def test_equal_vectors_are_equal_archives(tmp_path):
    for name in ("a.vec.gz", "b.vec.gz"):
        write_vectors(tmp_path / name, WORDS, table())
    assert (tmp_path / "a.vec.gz").read_bytes() == (tmp_path / "b.vec.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.vec.gz").read_bytes()).startswith(b"7 3\nthe ")


@pytest.mark.parametrize("word", ["New York", "", "a\tb", "a\n"])
def test_a_word_with_a_space_is_refused_and_no_file_appears(tmp_path, word):
    with pytest.raises(RequestError, match=r"fr\.vec: word 2, .* is empty or holds a space"):
        write_vectors(tmp_path / "fr.vec", ["a", word], table(2))
    assert not list(tmp_path.glob("*.vec*"))


def test_numbers_that_no_reader_takes_are_refused(tmp_path):
    values = table(2)
    values[1, 1] = np.inf
    with pytest.raises(RequestError, match=r"fr\.vec: the vector of 'b' is not finite"):
        write_vectors(tmp_path / "fr.vec", ["a", "b"], values)
