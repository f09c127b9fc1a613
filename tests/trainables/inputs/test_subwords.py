import sys

import numpy as np
import pytest

from seedwise.errors import RequestError
from seedwise.trainables.inputs.subwords import MAGIC, Subwords
from seedwise.trainables.inputs.vectors import read_vectors


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A small fastText model and the file that fastText itself would write."""
    fasttext = pytest.importorskip("gensim.models.fasttext")
    text = [["le", "chat", "boit", "le", "lait"], ["le", "chien", "été", "boit"]] * 5
    trained = fasttext.FastText(text, vector_size=6, min_count=1, bucket=200, min_n=3, max_n=5, epochs=1, workers=1)
    path = tmp_path_factory.mktemp("model") / "fr.bin"
    fasttext.save_facebook_model(trained, str(path))
    return trained.wv, path


def test_words_of_the_model_and_their_vectors(model):
    keyed, path = model
    result = read_vectors(path, "k", rows=3)
    assert result.words == keyed.index_to_key[:3]
    np.testing.assert_allclose(result.table, keyed.vectors[:3], rtol=1e-6)


@pytest.mark.parametrize("word", ["chats", "étés", "inconnu", "x"])
def test_unknown_words_are_the_mean_of_their_ngrams(model, word):
    keyed, path = model
    np.testing.assert_allclose(Subwords(path, "k").vector(word), keyed.get_vector(word), rtol=1e-5, atol=1e-7)


def test_a_word_too_short_for_an_ngram_has_no_vector(model):
    assert Subwords(model[1], "k").vector("") is None


def test_a_file_that_is_no_complete_model_is_an_error(model, tmp_path):
    path = tmp_path / "a.bin"
    for content, message in ((b"3 2\nabc", "not a fastText"), (model[1].read_bytes()[:300], "cannot be read")):
        path.write_bytes(content)
        with pytest.raises(RequestError, match=f"inputs.subwords.xx: .*a.bin .*{message}"):
            Subwords(path, "inputs.subwords.xx")


def test_an_invalid_archive_is_an_error(tmp_path):
    path = tmp_path / "a.bin.gz"
    path.write_bytes(b"no archive")
    with pytest.raises(RequestError, match=r"inputs.subwords.xx: .*a.bin.gz: Not a gzipped file"):
        Subwords(path, "inputs.subwords.xx")


def test_without_gensim_the_error_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "gensim.models.fasttext", None)
    path = tmp_path / "a.bin"
    path.write_bytes(MAGIC + b"rest")
    with pytest.raises(RequestError, match=r"inputs.vectors.xx: .*a.bin.*seedwise\[fasttext\]"):
        read_vectors(path, "inputs.vectors.xx", rows=3)
