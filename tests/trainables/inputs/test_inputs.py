import gzip

import numpy as np
import pytest

from search.errors import RequestError
from trainables.inputs.lexicons import read_lexicon
from trainables.inputs.paths import checksum, locate
from trainables.inputs.text import find_word, split_words
from trainables.inputs.vectors import read_vectors


@pytest.mark.parametrize("header", ["3 2\n", ""])
@pytest.mark.parametrize("name", ["a.vec", "a.vec.gz"])
def test_vectors_are_read_with_and_without_header_and_compression(tmp_path, header, name):
    text = header + "the 1 2\nfür -3 4.5\nthe 9 9\n"
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    words, vectors = read_vectors(path, "inputs.vectors.xx", rows=10)
    assert words == ["the", "für"]
    np.testing.assert_array_equal(vectors, np.array([[1, 2], [-3, 4.5]], dtype=np.float32))
    assert read_vectors(path, "k", rows=1)[0] == ["the"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"a 1 2\nb 1\n", "line 2: 1 numbers, expected 2"),
        (b"3 4\na 1 2\n", "line 2: 2 numbers, expected 4"),
        (b"a 1 2\nb 1 x\n", "line 2: could not convert string to float"),
        (b"a 1 2\n\xff 1 2\n", "line 2: 'utf-8' codec can't decode"),
        (b"", "holds no vectors"),
    ],
)
def test_bad_vectors_are_named_by_line(tmp_path, text, message):
    path = tmp_path / "bad.vec"
    path.write_bytes(text)
    with pytest.raises(RequestError, match=f"inputs.vectors.xx: .*{message}"):
        read_vectors(path, "inputs.vectors.xx", rows=10)


def test_a_cut_archive_is_an_error_with_its_key(tmp_path):
    path = tmp_path / "cut.vec.gz"
    path.write_bytes(gzip.compress(b"a 1 2\n" * 1000)[:40])
    with pytest.raises(RequestError, match=r"inputs.vectors.xx: .*cut.vec.gz line \d+: .*Repair or replace it"):
        read_vectors(path, "inputs.vectors.xx", rows=10)


def test_lexica_by_space_or_tab(tmp_path):
    path = tmp_path / "lexicon.txt"
    path.write_text("dog chien\ndog\tchien\nto go\taller\nthree words here\ncat chat\n")
    assert read_lexicon(path, "k") == [("dog", "chien"), ("to go", "aller"), ("cat", "chat")]
    path.write_text("one\n")
    with pytest.raises(RequestError, match="holds no pairs"):
        read_lexicon(path, "k")


def test_words_signs_and_the_lower_case_fallback():
    assert split_words("Le chat, l'été: 3.5!") == ["Le", "chat", ",", "l", "'", "été", ":", "3", ".", "5", "!"]
    rows = {"chat": 0, "Le": 1}
    assert [find_word(word, rows, unknown="lowercase") for word in ("Chat", "Le", "le")] == [0, 1, None]
    assert find_word("Chat", rows, unknown="unk") is None


def test_a_checksum_changes_with_content_and_names(tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "a").write_text("1")
    first = checksum(tmp_path / "d")
    (tmp_path / "d" / "a").write_text("2")
    assert checksum(tmp_path / "d") != first
    (tmp_path / "d" / "a").rename(tmp_path / "d" / "b")
    (tmp_path / "d" / "b").write_text("1")
    assert checksum(tmp_path / "d") != first


def test_a_path_that_is_not_there_names_its_key():
    with pytest.raises(RequestError, match=r"model: world:nothing: there is no such folder"):
        locate("world:nothing", "model", folder=True)
